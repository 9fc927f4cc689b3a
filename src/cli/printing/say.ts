import pico from 'picocolors'

/** Colours follow the stream they go to: a terminal gets them unless NO_COLOR is set. */
function coloursFor(stream: { isTTY?: boolean }) {
  const wanted = Boolean(stream.isTTY) && !process.env.NO_COLOR && process.env.TERM !== 'dumb'
  return pico.createColors(wanted || Boolean(process.env.FORCE_COLOR))
}

export const colours = coloursFor(process.stdout)
const errorColours = coloursFor(process.stderr)

export function say(text = ''): void {
  process.stdout.write(`${text}\n`)
}

export function success(text: string): void {
  say(`${colours.green('✓')} ${text}`)
}

/** Lines of `label  value`, values under each other. */
export function facts(rows: readonly (readonly [string, string])[]): void {
  const width = Math.max(...rows.map(([label]) => label.length))
  for (const [label, value] of rows) say(`  ${colours.dim(label.padEnd(width))}  ${value}`)
}

export function note(text: string): void {
  process.stderr.write(`${errorColours.dim(text)}\n`)
}

export function failure(message: string, hints: readonly string[] = []): void {
  process.stderr.write(`${errorColours.red('error:')} ${message}\n`)
  for (const hint of hints) process.stderr.write(`  ${hint}\n`)
}

export interface Progress {
  stop(): void
}

/** A line that shows something is going on, on terminals only, and vanishes when done. */
export function progress(text: string): Progress {
  const { stderr } = process
  if (!stderr.isTTY) return { stop() {} }
  stderr.write(errorColours.dim(`… ${text}`))
  return { stop: () => void stderr.write('\r\u001b[2K') }
}

/** `~/.kube/config` instead of `/home/jane/.kube/config`. */
export function shortPath(path: string): string {
  const home = process.env.HOME
  return home && path.startsWith(`${home}/`) ? `~${path.slice(home.length)}` : path
}
