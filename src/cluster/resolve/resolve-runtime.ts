import { type ClusterConfiguration, type RuntimeKind, runtimeOf } from '../configuration.ts'
import { UserError } from '../user-error.ts'
import type { MachineFacts } from './machine-facts.ts'

/** The runtime that was asked for, by name or by socket; undefined if neither was. */
export function askedRuntime(asked: ClusterConfiguration): RuntimeKind | undefined {
  const { runtime, containerRuntimeEndpoint } = asked
  if (containerRuntimeEndpoint !== undefined && runtime !== undefined)
    throw new UserError(`--runtime ${runtime} and --container-runtime-endpoint exclude each other`, [
      'Give one of them: the socket is that of another runtime.',
    ])
  return runtimeOf(asked)
}

/** Throws at once if this user, or this machine, cannot have nodes on the runtime. */
export function requireRuntime(runtime: RuntimeKind, machine: MachineFacts): void {
  if (runtime === 'builtin' || runtime === 'simulated') return
  if (!machine.isRoot)
    throw new UserError(`nodes on ${runtime === 'cri' ? 'a CRI runtime' : runtime} need root`, [
      'Without root the builtin runtime runs pods: sampan up --runtime builtin',
    ])
  const missing = runtime === 'containerd' ? machine.missingPrograms() : []
  if (missing.length > 0)
    throw new UserError(`no ${missing.join(', ')} on this machine`, [
      'Install containerd and runc (Debian, Ubuntu): apt-get install containerd runc',
      'Or run pods with nothing installed: --runtime builtin',
    ])
}
