/** Whether the machine forwarded packets before it became a node: it is left as it was found. */
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { isRouter } from '../../linux/forwarding.ts'
import type { Linux } from '../../linux/linux.ts'

const SETTINGS = ['net/ipv4/ip_forward', 'net/ipv6/conf/all/forwarding']
const fileOf = (stateDir: string) => path.join(stateDir, 'forwarding-was-off')

/** Before anything is changed. What a former process remembered is older, and stays. */
export function rememberForwarding(stateDir: string, linux: Linux): void {
  if (existsSync(fileOf(stateDir))) return
  const sysctl = linux.openSysctl()
  writeFileSync(fileOf(stateDir), `${SETTINGS.filter((name) => sysctl.read(name) === '0').join('\n')}\n`, {
    mode: 0o600,
  })
}

/** When nothing of the node is left. If others have packets to forward by now, it stays on. */
export function restoreForwarding(stateDir: string, linux: Linux): void {
  const file = fileOf(stateDir)
  if (!existsSync(file)) return
  const wereOff = readFileSync(file, 'utf8').split('\n')
  const sysctl = linux.openSysctl()
  const changed = SETTINGS.filter((name) => wereOff.includes(name) && sysctl.read(name) === '1')
  if (changed.length > 0 && !isRouter(linux)) for (const name of changed) sysctl.write(name, 0)
  rmSync(file)
}
