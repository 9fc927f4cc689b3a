import { randomBytes, timingSafeEqual } from 'node:crypto'
import { DecryptionError, type EncryptionProvider } from './provider.ts'

const NONCE_BYTES = 24
const TAG_BYTES = 16
const BLOCK_BYTES = 64
/** The key of the authenticator is the begin of the key stream. */
const AUTHENTICATOR_KEY_BYTES = 32

/**
 * XSalsa20 and Poly1305, as NaCl's secretbox (https://nacl.cr.yp.to/secretbox.html). Secret, and a change is noticed; the
 * form knows no context, so a value that was moved to another object still opens.
 */
export function secretbox(name: string, key: Buffer): EncryptionProvider {
  return {
    prefix: `k8s:enc:secretbox:v1:${name}:`,
    encrypt(plain) {
      const nonce = randomBytes(NONCE_BYTES)
      return Buffer.concat([nonce, sealBox(key, nonce, plain)])
    },
    decrypt: (sealed) => openBox(key, sealed.subarray(0, NONCE_BYTES), sealed.subarray(NONCE_BYTES)),
  }
}

/** tag, ciphertext */
export function sealBox(key: Buffer, nonce: Buffer, plain: Buffer): Buffer {
  const { authenticatorKey, bytes } = xsalsa20(key, nonce, plain)
  return Buffer.concat([poly1305(authenticatorKey, bytes), bytes])
}

export function openBox(key: Buffer, nonce: Buffer, box: Buffer): Buffer {
  if (nonce.length < NONCE_BYTES || box.length < TAG_BYTES) throw new DecryptionError('the stored data is too short')
  const sealed = box.subarray(TAG_BYTES)
  const { authenticatorKey, bytes } = xsalsa20(key, nonce, sealed)
  if (!timingSafeEqual(poly1305(authenticatorKey, sealed), box.subarray(0, TAG_BYTES)))
    throw new DecryptionError('the key does not open it, or it was changed')
  return bytes
}

const words = (bytes: Buffer) => Array.from({ length: bytes.length / 4 }, (_, i) => bytes.readUInt32LE(4 * i))
const CONSTANTS = words(Buffer.from('expand 32-byte k'))

/** The text joined with the key stream, and the part of the stream that came before. */
function xsalsa20(key: Buffer, nonce: Buffer, text: Buffer): { authenticatorKey: Buffer; bytes: Buffer } {
  const inner = innerKey(words(key), words(nonce.subarray(0, 16)))
  const rest = words(nonce.subarray(16, NONCE_BYTES))
  const bytes = Buffer.alloc(AUTHENTICATOR_KEY_BYTES + text.length)
  text.copy(bytes, AUTHENTICATOR_KEY_BYTES)
  const block = Buffer.alloc(BLOCK_BYTES)
  for (let at = 0; at < bytes.length; at += BLOCK_BYTES) {
    const count = at / BLOCK_BYTES
    const state = arranged(inner, [...rest, count >>> 0, Math.floor(count / 2 ** 32)])
    const mixed = rounds(state)
    for (let i = 0; i < 16; i++) block.writeUInt32LE((mixed[i]! + state[i]!) >>> 0, 4 * i)
    const end = Math.min(BLOCK_BYTES, bytes.length - at)
    for (let i = 0; i < end; i++) bytes[at + i]! ^= block[i]!
  }
  return {
    authenticatorKey: bytes.subarray(0, AUTHENTICATOR_KEY_BYTES),
    bytes: bytes.subarray(AUTHENTICATOR_KEY_BYTES),
  }
}

/** HSalsa20: a key for this nonce, so that the nonce can be long enough to be random. */
function innerKey(key: readonly number[], nonce: readonly number[]): number[] {
  const mixed = rounds(arranged(key, nonce))
  return [0, 5, 10, 15, 6, 7, 8, 9].map((i) => mixed[i]! >>> 0)
}

/** Constants in the diagonal, the key around them, the nonce and counter between. */
function arranged(key: readonly number[], nonce: readonly number[]): number[] {
  const [c0, c1, c2, c3] = CONSTANTS as [number, number, number, number]
  return [c0, ...key.slice(0, 4), c1, ...nonce, c2, ...key.slice(4), c3]
}

/** Which words are mixed with each other: columns, then rows. */
const QUARTERS = [
  [0, 4, 8, 12],
  [5, 9, 13, 1],
  [10, 14, 2, 6],
  [15, 3, 7, 11],
  [0, 1, 2, 3],
  [5, 6, 7, 4],
  [10, 11, 8, 9],
  [15, 12, 13, 14],
] as const

function rounds(state: readonly number[]): Int32Array {
  const x = Int32Array.from(state)
  for (let double = 0; double < 10; double++) {
    for (const [a, b, c, d] of QUARTERS) {
      x[b]! ^= rotated(x[a]! + x[d]!, 7)
      x[c]! ^= rotated(x[b]! + x[a]!, 9)
      x[d]! ^= rotated(x[c]! + x[b]!, 13)
      x[a]! ^= rotated(x[d]! + x[c]!, 18)
    }
  }
  return x
}

const rotated = (word: number, by: number) => (word << by) | ((word | 0) >>> (32 - by))

const PRIME = 2n ** 130n - 5n
const CLAMP = 0x0ffffffc0ffffffc0ffffffc0fffffffn
const LOW_128 = 2n ** 128n - 1n
const numberOf = (bytes: Buffer) => BigInt(`0x${Buffer.from(bytes).reverse().toString('hex')}`)

/** RFC 8439, 2.5. */
function poly1305(key: Buffer, text: Buffer): Buffer {
  const r = numberOf(key.subarray(0, 16)) & CLAMP
  let sum = 0n
  for (let at = 0; at < text.length; at += 16) {
    const part = text.subarray(at, at + 16)
    sum = ((sum + numberOf(part) + (1n << BigInt(8 * part.length))) * r) % PRIME
  }
  const tag = (sum + numberOf(key.subarray(16, 32))) & LOW_128
  return Buffer.from(tag.toString(16).padStart(32, '0'), 'hex').reverse()
}
