import { type AgentChannel, AgentGone } from '../../linux/syscall-agent.ts'
import { errnoName } from '../../linux/system-error.ts'
import { RuntimeError } from '../runtime.ts'

export const DEFAULT_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'
const NOT_FOUND_CODE = 127
/** What the kernel says, in the words of Go's os/exec, which users of other runtimes know. */
const WORDS: Readonly<Record<string, string>> = {
  ENOENT: 'no such file or directory',
  EACCES: 'permission denied',
  ENOEXEC: 'exec format error',
  EISDIR: 'is a directory',
  ENOTDIR: 'not a directory',
  E2BIG: 'argument list too long',
  ELOOP: 'too many levels of symbolic links',
}

/**
 * The agent becomes the program. All places of PATH are sent at once: the first that can be executed ends the agent, whose
 * connection closes then; what was sent after it nobody reads.
 */
export async function becomeProgram(
  agent: AgentChannel,
  args: readonly string[],
  env: readonly string[],
): Promise<void> {
  const [command = ''] = args
  const tries = candidates(command, env).map((file) => {
    const result = agent.call('execve', [file, { strings: args }, { strings: env }], { soft: true })
    return { file, result }
  })
  agent.tell('exit_group', [NOT_FOUND_CODE])
  const failed: { file: string; errno: number }[] = []
  try {
    for (const { file, result } of tries) failed.push({ file, errno: -(await result) })
  } catch (error) {
    if (error instanceof AgentGone) return
    throw error
  }
  throw new RuntimeError('InvalidArgument', refusal(command, failed))
}

function candidates(command: string, env: readonly string[]): string[] {
  if (command.includes('/')) return [command]
  if (command === '') return []
  const path = env.findLast((entry) => entry.startsWith('PATH='))?.slice('PATH='.length) ?? DEFAULT_PATH
  return path.split(':').map((folder) => `${folder || '.'}/${command}`)
}

function refusal(command: string, failed: readonly { file: string; errno: number }[]): string {
  if (command === '') return 'exec: "": executable file not found in $PATH'
  const other = failed.find(({ errno }) => !['ENOENT', 'ENOTDIR', 'EACCES'].includes(errnoName(errno)))
  if (!command.includes('/') && !other) return `exec: "${command}": executable file not found in $PATH`
  const { file, errno } = other ?? failed[0]!
  const name = errnoName(errno)
  if (name === 'ENOENT') return `exec: "${file}": stat ${file}: no such file or directory`
  if (name === 'ENOEXEC') return `exec ${file}: exec format error`
  return `exec: "${file}": ${WORDS[name] ?? name}`
}
