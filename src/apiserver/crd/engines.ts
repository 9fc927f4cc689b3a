import { loadRe2, type Re2 } from '../../base/re2.ts'
import type { RuleEngines } from './rules.ts'

type CelModule = typeof import('./cel-rules.ts')

/**
 * The engines for patterns and rules, loaded when the first definition needs them: a cluster without any starts
 * without their weight.
 */
export class EngineLoader {
  #re2: Re2 | undefined
  #cel: CelModule | undefined

  /** What a definition needs, told from its text; undefined if that is not loaded yet. */
  loadedFor(definition: Buffer): RuleEngines | undefined {
    const needsCel = definition.includes('"x-kubernetes-validations"')
    const needsRe2 = needsCel || definition.includes('"pattern"')
    if ((needsRe2 && !this.#re2) || (needsCel && !this.#cel)) return undefined
    return this.#engines()
  }

  async load(definition: Buffer): Promise<RuleEngines> {
    if (this.loadedFor(definition) === undefined) {
      this.#re2 ??= await loadRe2()
      if (definition.includes('"x-kubernetes-validations"')) this.#cel ??= await import('./cel-rules.ts')
    }
    return this.#engines()
  }

  #engines(): RuleEngines {
    const re2 = this.#re2
    const cel = this.#cel
    if (!cel || !re2) return { re2, celRules: undefined, checkRules: undefined }
    return {
      re2,
      celRules: (props) => cel.celRules(props, re2),
      checkRules: (props, before, path) => cel.checkRules(props, before, path, re2),
    }
  }
}
