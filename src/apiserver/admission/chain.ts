import { beginsAgain } from './matching/reinvocation.ts'
import type { AdmissionPlugin, AdmissionRequest } from './plugin.ts'

/**
 * The plugins in their order: first all that may change the object, then all that may only refuse it. Those that have
 * nothing to wait for are not waited for.
 */
export class AdmissionChain {
  readonly #admitting: readonly AdmissionPlugin[]
  readonly #validating: readonly AdmissionPlugin[]

  constructor(plugins: readonly AdmissionPlugin[]) {
    this.#admitting = plugins.filter((plugin) => plugin.admit)
    this.#validating = plugins.filter((plugin) => plugin.validate)
  }

  /** What was changed from outside is seen by all once more. */
  async admit(request: AdmissionRequest): Promise<void> {
    await this.#admitOnce(request)
    if (beginsAgain(request)) await this.#admitOnce(request)
  }

  async #admitOnce(request: AdmissionRequest): Promise<void> {
    for (const plugin of this.#admitting) {
      const pending = plugin.admit!(request)
      if (pending) await pending
    }
  }

  async validate(request: AdmissionRequest): Promise<void> {
    for (const plugin of this.#validating) {
      const pending = plugin.validate!(request)
      if (pending) await pending
    }
  }
}
