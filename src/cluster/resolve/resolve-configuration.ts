/** From what was asked for now, what the last start had, and the machine: what a start does. Pure. */
import { type ClusterConfiguration, mergeConfiguration, runtimeOf, valueFor } from '../configuration.ts'
import { UserError } from '../user-error.ts'
import type { MachineFacts } from './machine-facts.ts'
import { resolveListening } from './resolve-listening.ts'
import { askedRuntime, requireRuntime } from './resolve-runtime.ts'

export interface ResolvedConfiguration {
  /** Has `store`, `apiPort`, `nodes` and a runtime. */
  readonly configuration: ClusterConfiguration
  /** No number of nodes was asked for: where none can run, the cluster has none. */
  readonly nodesOptional: boolean
}

export function resolveConfiguration(
  asked: ClusterConfiguration,
  saved: ClusterConfiguration,
  machine: MachineFacts,
): ResolvedConfiguration {
  const merged = mergeConfiguration(saved, asked)
  if (asked.auditLog !== undefined && merged.auditPolicy === undefined)
    throw new UserError('an audit log needs a policy', ['Say which requests to log: --audit-policy <file>'])
  const { nodes, runtime, nodesOptional } = resolveNodes(asked, saved, machine)
  const configuration = {
    ...merged,
    store: valueFor(merged, 'store'),
    apiPort: valueFor(merged, 'apiPort'),
    nodes,
    ...(runtime !== 'cri' && { runtime }),
  }
  return { configuration: resolveListening(configuration, asked, machine), nodesOptional }
}

/** As asked for, as last time, or one real node where that is possible. */
function resolveNodes(asked: ClusterConfiguration, saved: ClusterConfiguration, machine: MachineFacts) {
  const named = askedRuntime(asked)
  const known = named ?? runtimeOf(saved)
  const runtime = known ?? (machine.platform === 'linux' ? 'builtin' : 'simulated')
  const nodes = asked.nodes ?? saved.nodes ?? (named === undefined ? undefined : 1)
  if (nodes && machine.platform !== 'linux' && (runtime !== 'simulated' || known === undefined))
    throw new UserError(`real pods need Linux, this is ${machine.platform}`, [
      'For pods that exist in the API only: sampan up --nodes 1 --runtime simulated',
    ])
  requireRuntime(runtime, machine)
  const most = machine.platform === 'linux' ? 1 : 0
  return { nodes: nodes ?? most, runtime, nodesOptional: nodes === undefined }
}
