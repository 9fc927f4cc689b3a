import { type Configuration, configure } from './configuration.ts'
import { CorefileError } from './corefile/corefile-error.ts'
import type { PluginContext } from './plugin.ts'
import type { Answerer } from './server/chain.ts'

export interface LiveContext extends Omit<PluginContext, 'zones' | 'plugins' | 'changed' | 'serial'> {
  /** Told what answers may depend on, when it changes; undefined: everything has. */
  readonly onChange?: (dependency: string | undefined) => void
}

/** The configuration in use. Another one takes its place without a query being lost; a wrong one does not. */
export class LiveConfiguration implements AsyncDisposable {
  readonly #context: LiveContext
  readonly #otherwise: string
  #text: string
  #current: Configuration
  #serial: number
  #changing: Promise<void> = Promise.resolve()

  /** `otherwise` is the Corefile where there is no other; throws CorefileError. */
  constructor(context: LiveContext, otherwise: string) {
    this.#context = context
    this.#otherwise = otherwise
    this.#text = otherwise
    this.#serial = Math.floor(context.clock.now() / 1000)
    this.#current = this.#configure(otherwise)
  }

  readonly answer: Answerer = (query, client, transport) => this.#current.answer(query, client, transport)

  /** Whether answers may be given without asking the plugins. */
  get answersMayBeKept(): boolean {
    return !this.#current.plugins.some(({ seesAll }) => seesAll)
  }

  /** Called once the sockets are open. */
  start(): Promise<void> {
    this.#changing = this.#changing.then(() => this.#current.start())
    return this.#changing
  }

  /** Another Corefile, or none any more. Without `reload` in the one in use nothing changes after the first. */
  change(corefile: string | undefined): void {
    const text = corefile ?? this.#otherwise
    if (text === this.#text) return
    const follows = this.#current.plugins.some(({ name }) => name === 'reload')
    if (!follows) {
      this.#context.log.info('the configuration changed, but has no reload: it is followed at the next start')
      return
    }
    try {
      const next = this.#configure(text)
      const before = this.#current
      this.#current = next
      this.#text = text
      this.#context.onChange?.(undefined)
      this.#changing = this.#changing.then(() => before[Symbol.asyncDispose]()).then(() => next.start())
      this.#context.log.info('the configuration of DNS is in use')
    } catch (error) {
      if (!(error instanceof CorefileError)) throw error
      this.#context.metrics.reloadFailed()
      this.#context.log.error(error.message)
    }
  }

  #configure(text: string): Configuration {
    return configure(text, {
      ...this.#context,
      changed: (dependency) => {
        this.#serial = Math.floor(this.#context.clock.now() / 1000)
        this.#context.onChange?.(dependency)
      },
      serial: () => this.#serial,
    })
  }

  get serial(): number {
    return this.#serial
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#changing
    await this.#current[Symbol.asyncDispose]()
  }
}
