import type { Changes } from '../../base/changes.ts'
import type { Clock } from '../../base/clock.ts'
import type { Logger } from '../../base/log.ts'
import { type EncryptionConfiguration, type ResourceEncryption, readEncryption } from './configuration.ts'

/** Values that are being read or written with providers that were replaced have this long to end. */
const GRACE_MS = 60_000

/** What an EncryptionConfiguration says now. A later one that is wrong changes nothing. */
export async function startEncryption(
  first: EncryptionConfiguration,
  changes: Changes<EncryptionConfiguration> | undefined,
  clock: Clock,
  log: Logger,
): Promise<ResourceEncryption> {
  const stop = new AbortController()
  const open = new Set<ResourceEncryption>()
  const read = async (configuration: EncryptionConfiguration) => {
    const made = await readEncryption(configuration, clock)
    open.add(made)
    return made
  }
  const close = (one: ResourceEncryption) => {
    if (open.delete(one)) one[Symbol.dispose]()
  }
  let current = await read(first)
  changes?.(async (next) => {
    try {
      const before = current
      current = await read(next)
      clock.after(GRACE_MS, () => close(before)).unref()
      log.info('the encryption configuration changed', {})
    } catch (error) {
      log.error('the new encryption configuration is not used', { error: String(error) })
    }
  }, stop.signal)
  return {
    providersOf: (resource) => current.providersOf(resource),
    [Symbol.dispose]() {
      stop.abort()
      for (const one of open) close(one)
    },
  }
}
