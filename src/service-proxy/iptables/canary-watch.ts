/**
 * Looks now and then whether others changed the rules. Legacy tables have a fingerprint. Of others a chain that nobody uses
 * tells: when it is gone, someone has flushed everything. What else is wrong is found by comparing all of it, once a minute.
 */
import type { Clock, Timer } from '../../base/clock.ts'
import type { IPFamily } from '../../base/ip-address.ts'
import type { IptablesCommands } from './iptables-commands.ts'
import { CANARY_CHAIN, TABLES } from './skeleton.ts'

const LOOK_EVERY_MS = 5000
const LOOKS_UNTIL_COMPARE = 12

export function watchCanaries(
  commands: IptablesCommands,
  families: readonly IPFamily[],
  clock: Clock,
  isAsLeft: () => boolean,
  listener: () => void,
): Disposable {
  let timer: Timer | undefined
  let isStopped = false
  let looks = 0
  const look = async () => {
    const isWhole = isAsLeft() && (await allThere(commands, families).catch(() => true))
    if (isStopped) return
    if (!isWhole || ++looks % LOOKS_UNTIL_COMPARE === 0) listener()
    lookLater()
  }
  const lookLater = () => {
    timer = clock.after(LOOK_EVERY_MS, () => void look()).unref()
  }
  lookLater()
  return {
    [Symbol.dispose]() {
      isStopped = true
      timer?.cancel()
    },
  }
}

async function allThere(commands: IptablesCommands, families: readonly IPFamily[]): Promise<boolean> {
  for (const family of families) {
    for (const table of TABLES) if (!(await commands.hasChain(family, table, CANARY_CHAIN))) return false
  }
  return true
}
