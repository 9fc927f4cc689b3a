/** How a machine becomes a node of a cluster on another machine, and stays one. */
import { join } from 'node:path'
import type { BootstrapToken } from '../api/kinds/core/bootstrap-token.ts'
import { writeFileAtomically } from '../base/atomic-file.ts'
import type { Clock } from '../base/clock.ts'
import { readJson } from '../base/process-claim.ts'
import type { Linux } from '../linux/linux.ts'
import { discoverCluster } from './join/discover.ts'
import { enrol } from './join/enrol.ts'
import { readCertificate } from './join/node-certificates.ts'
import { addressTowards, assertFamilyOfPods } from './join/own-address.ts'
import { assertNetworkFree } from './machine-node/free-network.ts'
import { assertPortsFree } from './machine-node/free-ports.ts'
import { nodeDir } from './machine-node.ts'
import type { NodeConfiguration } from './node-configuration.ts'
import type { KubeletChoices, NodeSettings } from './node-settings.ts'
import { upstreamDnsServers } from './upstream-dns.ts'

export { caCertHash } from './join/discover.ts'

export interface JoinOptions {
  readonly server: URL
  readonly token: BootstrapToken
  /** `sha256:` and hex; none if whoever knows the token is to be believed. */
  readonly caCertHashes: readonly string[]
  readonly nodeName: string
  readonly chosen: Choices
  /** The node has a folder below. */
  readonly dataDir: string
  readonly linux: Linux
  readonly clock: Clock
}

/** What users want otherwise than the machine or the cluster would have it; kept when these change their mind. */
export interface Choices extends KubeletChoices {
  /** By which other nodes reach this one; that towards the server unless given. */
  readonly address?: string
  readonly proxyMode?: string
  readonly runtime?: string
}

/** What a machine remembers of the cluster that it joined. */
export interface Membership {
  readonly server: string
  readonly node: NodeSettings
  readonly chosen: Choices
}

const membershipPath = (dataDir: string) => join(dataDir, 'join.json')

export const readMembership = (dataDir: string) => readJson<Membership>(membershipPath(dataDir))

export const writeMembership = (dataDir: string, membership: Membership) =>
  writeFileAtomically(membershipPath(dataDir), `${JSON.stringify(membership, null, 2)}\n`)

/** Becomes a node: finds the cluster, checks it, and gets certificates. The node itself is started afterwards. */
export async function joinCluster(options: JoinOptions): Promise<Membership> {
  const { server, token, nodeName, chosen, clock } = options
  const address = chosen.address ?? (await addressTowards(server))
  await assertPortsFree(address)
  const cluster = await discoverCluster(options)
  const identity = { name: nodeName, address, dataDir: nodeDir(options.dataDir, nodeName) }
  const check = (configuration: NodeConfiguration) => {
    assertFamilyOfPods(address, configuration)
    assertNetworkFree(options.linux, configuration)
  }
  const configuration = await enrol(cluster, `${token.id}.${token.secret}`, identity, clock, check)
  const membership: Membership = {
    server: cluster.server,
    node: {
      ...configuration,
      ...identity,
      ...chosen,
      upstreamDns: upstreamDnsServers(),
      rootless: false,
      isMachine: true,
    },
    chosen,
  }
  await writeMembership(options.dataDir, membership)
  return membership
}

/** Whether the node can still show who it is; without, it has to join again. */
export async function isStillMember({ node }: Membership, now: number): Promise<boolean> {
  const certificate = await readCertificate(node.dataDir, 'kubelet')
  return certificate !== undefined && Date.parse(certificate.validTo) > now
}
