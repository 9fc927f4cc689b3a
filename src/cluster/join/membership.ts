/** How a machine becomes a node of a cluster on another machine, and remembers it. */
import { join } from 'node:path'
import type { BootstrapToken } from '../../api/kinds/core/bootstrap-token.ts'
import { writeFileAtomically } from '../../base/atomic-file.ts'
import type { Clock } from '../../base/clock.ts'
import { readJson } from '../../base/process-claim.ts'
import type { Linux } from '../../linux/linux.ts'
import { type ClusterConfiguration, inScope } from '../configuration.ts'
import { assertNetworkFree } from '../local-nodes/free-network.ts'
import { assertPortsFree } from '../local-nodes/free-ports.ts'
import { nodeDir } from '../local-nodes/machine-node.ts'
import { type AgreedConfiguration, agreedPart } from '../node/agreed-configuration.ts'
import type { NodeSettings } from '../node/node-settings.ts'
import { upstreamDnsServers } from '../node/upstream-dns.ts'
import { discoverCluster } from './discover.ts'
import { enrol } from './enrol.ts'
import { type NodeIdentity, readCertificate } from './node-certificates.ts'
import { addressTowards, assertFamilyOfPods } from './own-address.ts'

export interface JoinOptions {
  readonly server: URL
  readonly token: BootstrapToken
  /** `sha256:` and hex; none to trust every server that knows the token. */
  readonly caCertHashes: readonly string[]
  readonly nodeName: string
  readonly chosen: ClusterConfiguration
  /** The node has a folder below. */
  readonly dataDir: string
  readonly linux: Linux
  readonly clock: Clock
}

/** What a machine remembers of the cluster that it joined. */
export interface Membership {
  readonly server: string
  readonly node: NodeSettings
  /** What the user asked for, in place of the defaults of the cluster and of the machine. */
  readonly chosen: ClusterConfiguration
}

const membershipPath = (dataDir: string) => join(dataDir, 'join.json')

export const readMembership = (dataDir: string) => readJson<Membership>(membershipPath(dataDir))

export const writeMembership = (dataDir: string, membership: Membership) =>
  writeFileAtomically(membershipPath(dataDir), `${JSON.stringify(membership, null, 2)}\n`)

/** Becomes a node: finds the cluster, checks it, and gets certificates. The node itself is started afterwards. */
export async function becomeMember(options: JoinOptions): Promise<Membership> {
  const { server, token, nodeName, chosen, clock } = options
  const address = chosen.nodeIp ?? (await addressTowards(server))
  await assertPortsFree(address)
  const cluster = await discoverCluster(options)
  const identity = { name: nodeName, address, dataDir: nodeDir(options.dataDir, nodeName) }
  const check = (agreed: AgreedConfiguration) => {
    assertFamilyOfPods(address, agreed)
    assertNetworkFree(options.linux, agreed)
  }
  const agreed = await enrol(cluster, `${token.id}.${token.secret}`, identity, clock, check)
  const membership = { server: cluster.server, node: settingsOfNode(identity, agreed, chosen), chosen }
  await writeMembership(options.dataDir, membership)
  return membership
}

/** The settings of the node now: the machine's DNS servers may have changed since the last start. */
export const settingsOfNode = (
  { name, address, dataDir }: NodeIdentity,
  agreed: AgreedConfiguration,
  chosen: ClusterConfiguration,
): NodeSettings => ({
  ...agreedPart(agreed),
  ...inScope('node', chosen),
  name,
  address,
  dataDir,
  upstreamDns: upstreamDnsServers(),
  rootless: false,
  isMachine: true,
})

/** Whether the certificate of the node is still valid; without, it has to join again. */
export async function isStillMember({ node }: Membership, now: number): Promise<boolean> {
  const certificate = await readCertificate(node.dataDir, 'kubelet')
  return certificate !== undefined && Date.parse(certificate.validTo) > now
}
