import { InvalidArgumentError } from 'commander'
import { missingPrograms } from '../../container-runtime/containerd-programs.ts'
import { CliError } from '../cli-error.ts'
import type { NodeRuntime } from './instance.ts'

/** `--runtime` or the socket of one; undefined if neither was said. */
export function chosenRuntime(options: {
  readonly runtime?: NodeRuntime
  readonly containerRuntimeEndpoint?: string
}): NodeRuntime | undefined {
  const { runtime, containerRuntimeEndpoint: endpoint } = options
  if (endpoint !== undefined && runtime !== undefined)
    throw new CliError(`--runtime ${runtime} and --container-runtime-endpoint: which of them runs pods?`)
  return endpoint === undefined ? runtime : 'cri'
}

export function socketArgument(text: string): string {
  if (!/^unix:(\/\/)?\/./.test(text)) throw new InvalidArgumentError('The path of a socket, as unix:///run/…')
  return text
}

/** Said at once, not by a node that does not come up. */
export function requireRuntime(runtime: NodeRuntime): void {
  if (runtime === 'builtin' || runtime === 'simulated') return
  if (process.getuid?.() !== 0)
    throw new CliError(`nodes on ${runtime === 'cri' ? 'a CRI runtime' : runtime} need root`, [
      'Without root the builtin runtime runs pods: sampan up --runtime builtin',
    ])
  const missing = runtime === 'containerd' ? missingPrograms() : []
  if (missing.length > 0)
    throw new CliError(`no ${missing.join(', ')} on this machine`, [
      'Install containerd and runc (Debian, Ubuntu): apt-get install containerd runc',
      'Or run pods with nothing installed: --runtime builtin',
    ])
}
