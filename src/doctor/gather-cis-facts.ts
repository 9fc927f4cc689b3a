import { systemClock } from '../base/clock.ts'
import type { CisFacts } from './facts.ts'
import { auditFacts, encryptionFacts } from './gather/configuration.ts'
import { etcdFacts } from './gather/etcd.ts'
import { clusterFiles } from './gather/files.ts'
import type { Inspected } from './gather/inspected.ts'
import { nodeFacts } from './gather/nodes.ts'
import { objectFacts } from './gather/objects.ts'
import { ownerOf } from './gather/process.ts'
import { serverFacts } from './gather/server.ts'

export type { Inspected } from './gather/inspected.ts'

/** Looks at a running cluster and its machine. Nothing is changed: what is tried is a dry run. */
export async function gatherCisFacts(inspected: Inspected): Promise<CisFacts> {
  const objects = await objectFacts(inspected.api)
  const [owner, files, server, audit, encryption, etcd, nodes] = await Promise.all([
    ownerOf(inspected.pid),
    clusterFiles(inspected.dataDir, inspected.kubeconfigs),
    serverFacts(inspected, objects.namespaces, objects.pods),
    auditFacts(inspected),
    encryptionFacts(inspected),
    etcdFacts(inspected),
    nodeFacts(inspected, objects.pods),
  ])
  return { now: systemClock.now(), owner, files, server, audit, encryption, etcd, nodes, objects }
}
