import { beginsAgain } from './matching/reinvocation.ts'
import type { AdmissionPlugin, AdmissionRequest } from './plugin.ts'

interface Asked {
  readonly admitting: readonly AdmissionPlugin[]
  readonly validating: readonly AdmissionPlugin[]
}

/**
 * The plugins in their order: first all that may change the object, then all that may only refuse it. Those that have
 * nothing to wait for are not waited for, and those that have nothing to say about a kind are not asked.
 */
export class AdmissionChain {
  readonly #plugins: readonly AdmissionPlugin[]
  readonly #byKind = new WeakMap<AdmissionRequest['kind'], Asked>()

  constructor(plugins: readonly AdmissionPlugin[]) {
    this.#plugins = plugins
  }

  /** Of the plugins that are on, in the order in which they are asked. */
  get names(): string[] {
    return this.#plugins.map(({ name }) => name)
  }

  /** What was changed from outside is seen by all once more. */
  admit(request: AdmissionRequest): void | Promise<void> {
    const pending = inOrder(this.#asked(request).admitting, 'admit', request)
    if (pending) return pending.then(() => this.#admitAgain(request))
    return this.#admitAgain(request)
  }

  #admitAgain(request: AdmissionRequest): void | Promise<void> {
    if (beginsAgain(request)) return inOrder(this.#asked(request).admitting, 'admit', request)
  }

  validate(request: AdmissionRequest): void | Promise<void> {
    return inOrder(this.#asked(request).validating, 'validate', request)
  }

  #asked({ kind }: AdmissionRequest): Asked {
    const known = this.#byKind.get(kind)
    if (known) return known
    const resource = kind.group === '' ? kind.plural : `${kind.plural}.${kind.group}`
    const plugins = this.#plugins.filter(({ resources }) => !resources || resources.includes(resource))
    const asked = {
      admitting: plugins.filter((plugin) => plugin.admit),
      validating: plugins.filter((plugin) => plugin.validate),
    }
    this.#byKind.set(kind, asked)
    return asked
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
