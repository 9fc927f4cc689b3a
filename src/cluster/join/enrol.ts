import { configMapKind } from '../../api/kinds/core/config-map.ts'
import { nodeKind } from '../../api/kinds/core/node/kind.ts'
import { ApiError } from '../../api/meta/api-error.ts'
import { isConditionTrue } from '../../api/meta/conditions.ts'
import { LABEL } from '../../api/meta/well-known.ts'
import type { Clock } from '../../base/clock.ts'
import { type Client, createClient } from '../../client/client.ts'
import { createHttpTransport } from '../../client/http-transport.ts'
import type { KeyPair } from '../certificates.ts'
import { AGREED_CONFIGURATION, type AgreedConfiguration, readConfiguration } from '../node/agreed-configuration.ts'
import { UserError } from '../user-error.ts'
import { NEW_TOKEN_HINT } from './hints.ts'
import {
  askFor,
  type CertificateUse,
  type ClusterAddress,
  type NodeIdentity,
  writeCertificates,
} from './node-certificates.ts'

/** What the cluster is told besides the name of the node: until the kubelet tells the rest, its address. */
export async function tellAddress(asNode: Client, { name, address }: NodeIdentity): Promise<void> {
  const nodes = asNode.resource(nodeKind)
  const addresses = [
    { type: 'InternalIP', address },
    { type: 'Hostname', address: name },
  ]
  try {
    await nodes.create({ metadata: { name, labels: { [LABEL.hostname]: name } }, status: { addresses } })
  } catch (error) {
    if (!(error instanceof ApiError && error.code === 409)) throw error
    await nodes.patch(name, { status: { addresses } }, { subresource: 'status' })
  }
}

/**
 * Makes this machine known to the cluster as a node, with a token. `check` throws if it cannot be one of this kind. Only
 * when all went well anything is written here.
 */
export async function enrol(
  cluster: ClusterAddress,
  token: string,
  identity: NodeIdentity,
  clock: Clock,
  check: (configuration: AgreedConfiguration) => void = () => {},
): Promise<AgreedConfiguration> {
  await using bootstrap = createHttpTransport({ ...cluster, token: () => token, clock, userAgent: 'sampan-join' })
  const asBootstrapper = createClient(bootstrap)
  const configuration = await fetchConfiguration(asBootstrapper)
  check(configuration)
  await assertNameFree(asBootstrapper, identity.name)
  const kubelet = await askFor(asBootstrapper, identity, 'kubelet', clock)
  await using transport = createHttpTransport({ ...cluster, ...kubelet, clock, userAgent: 'sampan-join' })
  const asNode = createClient(transport)
  await tellAddress(asNode, identity)
  const rest = await askForAll(asNode, identity, ['kube-proxy', 'cluster-dns', 'serving'], clock)
  await writeCertificates(identity, cluster, { kubelet, ...rest })
  return configuration
}

export async function askForAll(
  client: Client,
  identity: NodeIdentity,
  uses: readonly CertificateUse[],
  clock: Clock,
): Promise<Partial<Record<CertificateUse, KeyPair>>> {
  const asked = uses.map(async (use) => [use, await askFor(client, identity, use, clock)] as const)
  return Object.fromEntries(await Promise.all(asked))
}

export async function fetchConfiguration(client: Client): Promise<AgreedConfiguration> {
  const { namespace, name } = AGREED_CONFIGURATION
  const configMap = await client
    .resource(configMapKind)
    .namespace(namespace)
    .get(name)
    .catch((error: unknown) => {
      throw explained(error)
    })
  return readConfiguration(configMap)
}

function explained(error: unknown): unknown {
  if (!(error instanceof ApiError)) return error
  if (error.code === 401)
    return new UserError('the cluster does not accept the token: it has expired, or is not meant for joining', [
      NEW_TOKEN_HINT,
    ])
  if (error.code === 404)
    return new UserError('the cluster is not one that nodes of Sampan can join', [
      'Start it for others on its machine: sampan up --detach --listen ADDRESS',
    ])
  return error
}

/** As kubeadm: a name whose node is not ready may be that of a machine that comes back. */
async function assertNameFree(client: Client, name: string): Promise<void> {
  const found = await client
    .resource(nodeKind)
    .get(name)
    .catch((error: unknown) => {
      if (error instanceof ApiError && error.code === 404) return undefined
      throw error
    })
  if (found && isConditionTrue(found.status?.conditions, 'Ready'))
    throw new UserError(`the cluster has a node ${name} already, and it is Ready`, [
      'Choose another name: --node-name',
      `Or, if that machine is gone: kubectl delete node ${name}`,
    ])
}
