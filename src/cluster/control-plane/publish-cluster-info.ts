import { CLUSTER_INFO, CLUSTER_INFO_KUBECONFIG } from '../../api/kinds/core/cluster-info.ts'
import { configMapKind } from '../../api/kinds/core/config-map.ts'
import { ApiError } from '../../api/meta/api-error.ts'
import type { Client } from '../../client/client.ts'
import { renderClusterInfo } from '../credentials/render-kubeconfig.ts'
import { AGREED_CONFIGURATION, type AgreedConfiguration, configurationData } from '../node/agreed-configuration.ts'

export interface ClusterInfo {
  /** As other machines reach the API server. */
  readonly server: string
  /** PEM of the authority that its certificate is from. */
  readonly ca: string
  readonly configuration: AgreedConfiguration
}

/** Tells machines that want to join how to reach the cluster, and what a node of it must be like. */
export async function publishClusterInfo(client: Client, { server, ca, configuration }: ClusterInfo): Promise<void> {
  await keep(client, CLUSTER_INFO, { [CLUSTER_INFO_KUBECONFIG]: renderClusterInfo({ server, ca }) })
  await keep(client, AGREED_CONFIGURATION, configurationData(configuration))
}

/** Keeps signatures that cluster-info has: their controller replaces those that no longer fit. */
async function keep(
  client: Client,
  { namespace, name }: { namespace: string; name: string },
  data: Record<string, string>,
): Promise<void> {
  const resource = client.resource(configMapKind).namespace(namespace)
  try {
    await resource.patch(name, { data })
  } catch (error) {
    if (!(error instanceof ApiError && error.code === 404)) throw error
    await resource.create({ metadata: { name, namespace }, data })
  }
}
