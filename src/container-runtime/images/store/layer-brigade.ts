/** Brings the layers of images: downloads side by side, unpacking from below, and nothing twice. */
import { linkAbort } from '../../../base/abort.ts'
import type { PullProgress } from '../../image-service.ts'
import type { ImageSource, LayerSource } from '../source.ts'
import { chainIds, type Layers } from './layers.ts'
import { orAborted, Slots } from './shared-work.ts'

const DOWNLOADS = 4

export interface Bringing {
  readonly source: ImageSource
  readonly work: string
  readonly signal: AbortSignal
  tell(progress: PullProgress): void
}

export class LayerBrigade {
  readonly #layers: Layers
  readonly #slots = new Slots(DOWNLOADS)
  /** Layers on their way, by chain id: another image may stand on the same ones. */
  readonly #coming = new Map<string, Promise<void>>()

  constructor(layers: Layers) {
    this.#layers = layers
  }

  /** Returns the uppermost layer. */
  async bring(bringing: Bringing): Promise<string | undefined> {
    const { source, signal, tell } = bringing
    const chain = chainIds(source.configuration.diffIds)
    const present = chain.findLastIndex((id) => this.#layers.stack(id) !== undefined)
    using abort = linkAbort(signal)
    const steps: Promise<void>[] = []
    for (const [i, layer] of source.layers.entries()) {
      if (i <= present) tell({ layer: layer.name, received: layer.size, total: layer.size })
      else {
        const step = this.#one(chain, i, steps.at(-1), { ...bringing, signal: abort.signal })
        step.catch((error) => abort.abort(error))
        steps.push(step)
      }
    }
    const results = await Promise.allSettled(steps)
    signal.throwIfAborted()
    const failed = results.find((result) => result.status === 'rejected')
    // The first that failed has stopped the others.
    if (failed) throw abort.signal.reason ?? failed.reason
    return chain.at(-1)
  }

  async #one(chain: readonly string[], i: number, below: Promise<void> | undefined, bringing: Bringing): Promise<void> {
    const id = chain[i]!
    for (let other = this.#coming.get(id); other; other = this.#coming.get(id)) {
      await orAborted(
        other.catch(() => {}),
        bringing.signal,
      )
      const { name, size } = bringing.source.layers[i]!
      if (!this.#layers.get(id)) continue
      bringing.tell({ layer: name, received: size, total: size })
      return
    }
    const coming = this.#bringOne(chain, i, below, bringing)
    this.#coming.set(id, coming)
    try {
      await coming
    } finally {
      this.#coming.delete(id)
    }
  }

  async #bringOne(
    chain: readonly string[],
    i: number,
    below: Promise<void> | undefined,
    { source, work, signal, tell }: Bringing,
  ): Promise<void> {
    const layer: LayerSource = source.layers[i]!
    try {
      await this.#slots.run(async () => {
        signal.throwIfAborted()
        await layer.fetch(signal, (received) => tell({ layer: layer.name, received, total: layer.size }))
      })
      await below
      signal.throwIfAborted()
      const diffId = source.configuration.diffIds[i]!
      const tar = stoppable(layer.open(), signal)
      await this.#layers.add({ id: chain[i]!, diffId, parent: chain[i - 1], tar, work })
    } finally {
      await layer.discard()
    }
  }
}

async function* stoppable(source: AsyncIterable<Buffer>, signal: AbortSignal): AsyncGenerator<Buffer> {
  for await (const bytes of source) {
    signal.throwIfAborted()
    yield bytes
  }
}
