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
  admit(request: AdmissionRequest): void | Promise<void> {
    const pending = inOrder(this.#admitting, 'admit', request)
    if (pending) return pending.then(() => this.#admitAgain(request))
    return this.#admitAgain(request)
  }

  #admitAgain(request: AdmissionRequest): void | Promise<void> {
    if (beginsAgain(request)) return inOrder(this.#admitting, 'admit', request)
  }

  validate(request: AdmissionRequest): void | Promise<void> {
    return inOrder(this.#validating, 'validate', request)
  }
}

/** Most writes meet nobody who has to wait: these go on at once. */
function inOrder(
  plugins: readonly AdmissionPlugin[],
  step: 'admit' | 'validate',
  request: AdmissionRequest,
  from = 0,
): void | Promise<void> {
  for (let i = from; i < plugins.length; i++) {
    const pending = plugins[i]![step]!(request)
    if (pending) return Promise.resolve(pending).then(() => inOrder(plugins, step, request, i + 1))
  }
}
