import { readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'

/** Which backend the last process on this node had: another one's devices and routes must go first. */
export function previousBackend(stateDir: string): string | undefined {
  try {
    return readFileSync(path.join(stateDir, 'backend'), 'utf8').trim()
  } catch {
    return undefined
  }
}

export function rememberBackend(stateDir: string, name: string): void {
  writeFileSync(path.join(stateDir, 'backend'), `${name}\n`, { mode: 0o600 })
}
