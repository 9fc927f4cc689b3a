import { randomFillSync, randomUUID } from 'node:crypto'

/** Randomness comes in through this interface everywhere, so that a cluster can run from a seed. */
export interface Random {
  /** A number in [0, 1). */
  next(): number
  /** A version 4 UUID. */
  uuid(): string
}

const NUMBER_BYTES = 6
const POOL_BYTES = NUMBER_BYTES * 256

/** Cryptographically strong: the next number does not follow from those before. */
export const systemRandom: Random = { next: cryptographicNumbers(), uuid: () => randomUUID() }

/** Asking the system for each number would take fifty times as long. */
function cryptographicNumbers(): () => number {
  const pool = Buffer.alloc(POOL_BYTES)
  let used = POOL_BYTES
  return () => {
    if (used === POOL_BYTES) {
      randomFillSync(pool)
      used = 0
    }
    const number = pool.readUIntBE(used, NUMBER_BYTES)
    used += NUMBER_BYTES
    return number / 2 ** (8 * NUMBER_BYTES)
  }
}

/** Kubernetes' suffix alphabet: no vowels, no look-alikes, so that no word is spelled by accident. */
const SUFFIX_ALPHABET = 'bcdfghjklmnpqrstvwxz2456789'

/** The random part of a generated name. */
export function randomSuffix(random: Random, length = 5): string {
  let suffix = ''
  for (let i = 0; i < length; i++) suffix += SUFFIX_ALPHABET[Math.floor(random.next() * SUFFIX_ALPHABET.length)]
  return suffix
}

/** A random source whose whole sequence follows from its seed (xorshift128 seeded by splitmix32). */
export function seededRandom(seed: number): Random {
  let state = seed >>> 0
  const splitmix = () => {
    state = (state + 0x9e3779b9) >>> 0
    let z = state
    z = Math.imul(z ^ (z >>> 16), 0x21f0aaad)
    z = Math.imul(z ^ (z >>> 15), 0x735a2d97)
    return (z ^ (z >>> 15)) >>> 0
  }
  let [x, y, z, w] = [splitmix(), splitmix(), splitmix(), splitmix() || 1]
  const next32 = () => {
    const t = x ^ (x << 11)
    x = y
    y = z
    z = w
    w = (w ^ (w >>> 19) ^ t ^ (t >>> 8)) >>> 0
    return w
  }
  return {
    next: () => next32() / 0x1_0000_0000,
    uuid() {
      const hex = [next32(), next32(), next32(), next32()].map((n) => n.toString(16).padStart(8, '0')).join('')
      const variant = ((Number.parseInt(hex[16]!, 16) & 3) | 8).toString(16)
      return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20)}`
    },
  }
}
