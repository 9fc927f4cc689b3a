import type { Container, Pod } from '../../api/generated/core-v1.ts'
import { parseDuration } from '../../base/duration.ts'

/** Annotations that say what a simulated pod does; `<name>.<container>` speaks of one container. */
export const ANNOTATION_PREFIX = 'simulated.sampan.dev/'

/** What a container does once it is started. Times are milliseconds. */
export interface Program {
  readonly startAfter: number
  readonly readyAfter: number
  /** Undefined: it runs until it is stopped. */
  readonly exitAfter: number | undefined
  readonly exitCode: number
  readonly failure: Failure | undefined
}

/** `image`: cannot be pulled; `config`: cannot be created; any other text: the pod fails with that as its reason. */
export type Failure = 'image' | 'config'

/** How long a Job's pod works if nothing says otherwise. */
const JOB_DURATION = 1000
const MISSING_IMAGE = /nonexistent|non-existent|:404|invalid/

export function annotationOf(pod: Pod, name: string, container?: string): string | undefined {
  const annotations = pod.metadata.annotations
  if (!annotations) return undefined
  return (
    (container === undefined ? undefined : annotations[`${ANNOTATION_PREFIX}${name}.${container}`]) ??
    annotations[ANNOTATION_PREFIX + name]
  )
}

export function programOf(pod: Pod, container: Container, isInit: boolean): Program {
  const duration = (name: string) => parseDuration(annotationOf(pod, name, container.name) ?? '')
  const isSidecar = isInit && container.restartPolicy === 'Always'
  const command = commandOf(container)
  // What is said of the pod as a whole is not meant for its init containers, which would hold it up.
  const own = isInit ? pod.metadata.annotations?.[`${ANNOTATION_PREFIX}exit-after.${container.name}`] : undefined
  const exitAfter = isInit ? parseDuration(own ?? '') : duration('exit-after')
  const code = annotationOf(pod, isInit ? `exit-code.${container.name}` : 'exit-code', container.name)
  return {
    startAfter: duration('start-after') ?? 0,
    readyAfter: duration('ready-after') ?? 0,
    exitAfter: exitAfter ?? command?.exitAfter ?? (isSidecar ? undefined : isInit ? 0 : usualDuration(pod, code)),
    exitCode: code === undefined ? (command?.exitCode ?? 0) : Number(code),
    failure: failureOf(pod, container),
  }
}

function failureOf(pod: Pod, container: Container): Failure | undefined {
  const failure = annotationOf(pod, 'fail', container.name)
  if (failure === 'image' || failure === 'config') return failure
  return MISSING_IMAGE.test(container.image ?? '') ? 'image' : undefined
}

/** The reason with which the whole pod fails, if it is to. */
export function podFailure(pod: Pod): string | undefined {
  const failure = annotationOf(pod, 'fail')
  return failure === 'image' || failure === 'config' ? undefined : failure
}

function usualDuration(pod: Pod, code: string | undefined): number | undefined {
  if (code !== undefined) return 0
  return pod.metadata.ownerReferences?.some(({ kind, controller }) => controller && kind === 'Job')
    ? JOB_DURATION
    : undefined
}

interface Exit {
  readonly exitAfter: number | undefined
  readonly exitCode: number
}

/** The few programs whose outcome anybody can tell: true, false, echo, sleep N, exit N; in a shell, the last one counts. */
function commandOf({ command = [], args = [] }: Container): Exit | undefined {
  const words = [...command, ...args]
  if (words.length === 0) return undefined
  const isShell = /(^|\/)(sh|bash|ash)$/.test(words[0]!)
  if (!isShell) return exitOf(words)
  const flag = words.findIndex((word) => /^-\w*c$/.test(word))
  return flag < 0 ? undefined : scriptExit(words[flag + 1] ?? '')
}

function scriptExit(script: string): Exit | undefined {
  let total = 0
  let exitCode = 0
  for (const line of script.split(/&&|;|\n/)) {
    const words = line.trim().split(/\s+/)
    if (words[0] === '') continue
    const exit = exitOf(words)
    if (!exit) return undefined
    if (exit.exitAfter === undefined) return exit
    total += exit.exitAfter
    exitCode = exit.exitCode
    if (words[0] === 'exit') break
  }
  return { exitAfter: total, exitCode }
}

function exitOf(words: readonly string[]): Exit | undefined {
  const [program = '', argument = ''] = words
  switch (program.slice(program.lastIndexOf('/') + 1)) {
    case 'true':
    case 'echo':
      return { exitAfter: 0, exitCode: 0 }
    case 'false':
      return { exitAfter: 0, exitCode: 1 }
    case 'exit':
      return { exitAfter: 0, exitCode: Number.parseInt(argument || '0', 10) & 255 }
    case 'sleep':
      return sleepExit(argument)
    default:
      return undefined
  }
}

function sleepExit(argument: string): Exit | undefined {
  if (argument === 'infinity' || argument === 'inf') return { exitAfter: undefined, exitCode: 0 }
  const exitAfter = parseDuration(/\d$/.test(argument) ? `${argument}s` : argument)
  return exitAfter === undefined ? undefined : { exitAfter, exitCode: 0 }
}
