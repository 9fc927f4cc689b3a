import type { Clock } from '../../base/clock.ts'
import type { Logger } from '../../base/log.ts'
import type { Store } from '../../store/store.ts'
import type { Address } from './kubernetes-service.ts'

const PREFIX = '/masterleases/'
/** Milliseconds. A server that was not heard of for so long is taken for gone. */
const LIFETIME = 15_000
const RENEWAL = 10_000

export interface ServerLeases extends AsyncDisposable {
  /** Resolves when all who serve this store now have been told of once. */
  readonly published: Promise<void>
}

interface Context {
  readonly store: Store
  readonly clock: Clock
  readonly log: Logger
}

/**
 * Several API servers on one store: each says there that it lives, and all tell the same of who does. One that ends takes
 * its word back; of one that dies the others hear nothing more.
 */
export function keepServerLeases(
  { store, clock, log }: Context,
  own: Address,
  publish: (servers: readonly Address[]) => Promise<void>,
): ServerLeases {
  const key = `${PREFIX}${own.host}:${own.port}`
  let isOver = false
  const renew = async () => {
    const value = Buffer.from(JSON.stringify({ ...own, expires: clock.now() + LIFETIME }))
    // Without a condition: nobody else writes this key.
    await store.commit([], [{ key, value }])
    await publish(await alive(store, clock))
  }
  let last: Promise<void> = renew()
  const published = last
  const again = () => {
    clock
      .after(RENEWAL, () => {
        if (isOver) return
        last = renew()
          .catch((error) => log.warn('could not tell that this API server lives', { error: String(error) }))
          .finally(again)
      })
      .unref()
  }
  again()
  return {
    published,
    async [Symbol.asyncDispose]() {
      isOver = true
      await last.catch(() => {})
      try {
        await store.commit([], [{ key }])
        const others = await alive(store, clock)
        if (others.length > 0) await publish(others)
      } catch (error) {
        log.warn('could not take back that this API server lives', { error: String(error) })
      }
    },
  }
}

async function alive(store: Store, clock: Clock): Promise<Address[]> {
  const { entries } = await store.list(PREFIX)
  const leases = entries.map(({ value }) => JSON.parse(value.toString()) as Address & { expires: number })
  return leases.filter(({ expires }) => expires > clock.now()).map(({ host, port }) => ({ host, port }))
}
