/** Whether legacy tables are as our own commands left them, told by their fingerprints. */
import type { Clock } from '../../base/clock.ts'
import type { IPFamily } from '../../base/ip-address.ts'
import type { IptablesCommands } from './iptables-commands.ts'

/** Long enough to be felt by whoever waits for a change of a Service. */
const SLOW_MS = 20
/** Looking takes at most this part of the time. */
const SHARE = 100

export class LegacyWatch {
  readonly #commands: Pick<IptablesCommands, 'fingerprint'>
  readonly #clock: Clock
  readonly #left = new Map<IPFamily, string | undefined>()
  #families: readonly IPFamily[] = []
  #took = 0
  #notBefore = 0

  constructor(commands: Pick<IptablesCommands, 'fingerprint'>, clock: Clock) {
    this.#commands = commands
    this.#clock = clock
  }

  /** Our own commands begin: what is there changes. */
  forget(): void {
    this.#families = []
    this.#left.clear()
  }

  /** Our own commands have ended. Large tables are looked at later, when the next look is due. */
  remember(families: readonly IPFamily[]): void {
    this.#families = families
    if (this.#took < SLOW_MS) this.#look()
  }

  /** While our own commands run, and where it cannot be told, nothing speaks against it. */
  isAsLeft(): boolean {
    return this.#clock.now() < this.#notBefore || this.#look()
  }

  #look(): boolean {
    const start = this.#clock.now()
    const isSame = this.#families.map((family) => this.#isSame(family)).every(Boolean)
    this.#took = this.#clock.now() - start
    this.#notBefore = this.#clock.now() + this.#took * SHARE
    return isSame
  }

  #isSame(family: IPFamily): boolean {
    const now = this.#commands.fingerprint(family)
    const left = this.#left.get(family) ?? now
    this.#left.set(family, left)
    return now === undefined || now === left
  }
}
