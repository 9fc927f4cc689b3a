/** One network, which is a chain of plugins: added in order, each given the answer of the one before; removed backwards. */
import type { PodSandbox } from '../pod-network.ts'
import type { NetworkConfiguration, PluginConfiguration } from './configuration.ts'
import { type CniResult, inVersion } from './result.ts'
import { type CniCommand, CniError, type PluginHost, runPlugin } from './run-plugin.ts'
import { isAtLeast } from './versions.ts'

export interface CniAttachment {
  readonly network: NetworkConfiguration
  readonly pod: PodSandbox
  readonly netns: string
  readonly ifName: string
}

export async function addToNetwork(host: PluginHost, attachment: CniAttachment): Promise<CniResult> {
  const { plugins, cniVersion } = attachment.network
  let result: CniResult | undefined
  for (const plugin of plugins) {
    const answer = await call(host, attachment, plugin, 'ADD', result)
    if (typeof answer !== 'object' || answer === null) {
      throw new CniError(plugin.type, 'ADD', { code: 6, msg: 'it gave no result' })
    }
    result = inVersion(answer as CniResult, cniVersion)
  }
  return result!
}

/** `result` is what ADD gave, if it came so far. */
export async function deleteFromNetwork(
  host: PluginHost,
  attachment: CniAttachment,
  result?: CniResult,
): Promise<void> {
  const given = isAtLeast(attachment.network.cniVersion, '0.4.0') ? result : undefined
  for (const plugin of attachment.network.plugins.toReversed()) await call(host, attachment, plugin, 'DEL', given)
}

export async function checkNetwork(host: PluginHost, attachment: CniAttachment, result: CniResult): Promise<void> {
  const { plugins, cniVersion, disableCheck } = attachment.network
  if (disableCheck || !isAtLeast(cniVersion, '0.4.0')) return
  for (const plugin of plugins) await call(host, attachment, plugin, 'CHECK', result)
}

function call(
  host: PluginHost,
  { network, pod, netns, ifName }: CniAttachment,
  plugin: PluginConfiguration,
  command: CniCommand,
  prevResult: CniResult | undefined,
): Promise<unknown> {
  const runtimeConfig = capabilityValues(plugin, pod)
  const { name, cniVersion } = network
  return runPlugin(host, {
    command,
    type: plugin.type,
    configuration: {
      ...plugin,
      name,
      cniVersion,
      ...(Object.keys(runtimeConfig).length > 0 && { runtimeConfig }),
      ...(prevResult && { prevResult }),
    },
    containerId: pod.sandboxId,
    netns,
    ifName,
    args: [
      'IgnoreUnknown=1',
      `K8S_POD_NAMESPACE=${pod.namespace}`,
      `K8S_POD_NAME=${pod.name}`,
      `K8S_POD_INFRA_CONTAINER_ID=${pod.sandboxId}`,
      `K8S_POD_UID=${pod.uid}`,
    ].join(';'),
  })
}

/** As large as the plugin takes: the rate is what limits. */
const BURST = 2 ** 31 - 1

/** What of the pod a plugin has asked for: https://www.cni.dev/docs/conventions/ */
export function capabilityValues({ capabilities = {} }: PluginConfiguration, pod: PodSandbox): Record<string, unknown> {
  const { hostPorts = [], bandwidth } = pod
  const values: Record<string, unknown> = {}
  if (capabilities.portMappings && hostPorts.length > 0) {
    values.portMappings = hostPorts.map(({ protocol, ...port }) => ({ ...port, protocol: protocol.toLowerCase() }))
  }
  if (capabilities.bandwidth && bandwidth) {
    values.bandwidth = {
      ...(bandwidth.ingress && { ingressRate: bandwidth.ingress, ingressBurst: BURST }),
      ...(bandwidth.egress && { egressRate: bandwidth.egress, egressBurst: BURST }),
    }
  }
  return values
}
