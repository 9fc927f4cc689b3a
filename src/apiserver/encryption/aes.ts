import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import { DecryptionError, type EncryptionProvider } from './provider.ts'

const NONCE_BYTES = 12
const TAG_BYTES = 16
const BLOCK_BYTES = 16

const cipherOf = (key: Buffer, mode: 'gcm' | 'cbc') => `aes-${key.length * 8}-${mode}` as 'aes-256-gcm'

/** nonce, ciphertext, tag */
export function sealGcm(key: Buffer, plain: Buffer, context: string): Buffer {
  const nonce = randomBytes(NONCE_BYTES)
  const cipher = createCipheriv(cipherOf(key, 'gcm'), key, nonce)
  cipher.setAAD(Buffer.from(context))
  return Buffer.concat([nonce, cipher.update(plain), cipher.final(), cipher.getAuthTag()])
}

export function openGcm(key: Buffer, sealed: Buffer, context: string): Buffer {
  if (sealed.length < NONCE_BYTES + TAG_BYTES) throw new DecryptionError('the stored data is too short')
  const end = sealed.length - TAG_BYTES
  const decipher = createDecipheriv(cipherOf(key, 'gcm'), key, sealed.subarray(0, NONCE_BYTES))
  decipher.setAAD(Buffer.from(context))
  decipher.setAuthTag(sealed.subarray(end))
  try {
    return Buffer.concat([decipher.update(sealed.subarray(NONCE_BYTES, end)), decipher.final()])
  } catch {
    throw new DecryptionError('the key does not open it, or it was changed')
  }
}

/** AES in Galois/Counter Mode with a random nonce: secret, and cannot be changed or moved unnoticed. */
export function aesGcm(name: string, key: Buffer): EncryptionProvider {
  return {
    prefix: `k8s:enc:aesgcm:v1:${name}:`,
    encrypt: (plain, context) => sealGcm(key, plain, context),
    decrypt: (sealed, context) => openGcm(key, sealed, context),
  }
}

/** AES in CBC mode, for what was written so: it is secret, but a change goes unnoticed. */
export function aesCbc(name: string, key: Buffer): EncryptionProvider {
  return {
    prefix: `k8s:enc:aescbc:v1:${name}:`,
    encrypt(plain) {
      const start = randomBytes(BLOCK_BYTES)
      const cipher = createCipheriv(cipherOf(key, 'cbc'), key, start)
      return Buffer.concat([start, cipher.update(plain), cipher.final()])
    },
    decrypt(sealed) {
      const decipher = createDecipheriv(cipherOf(key, 'cbc'), key, sealed.subarray(0, BLOCK_BYTES))
      try {
        return Buffer.concat([decipher.update(sealed.subarray(BLOCK_BYTES)), decipher.final()])
      } catch {
        throw new DecryptionError('the key does not open it, or it was changed')
      }
    },
  }
}

/** Leaves values as they are: to read what was written before encryption was on, or to turn it off. */
export const identity: EncryptionProvider = {
  prefix: '',
  encrypt: (plain) => plain,
  decrypt: (plain) => plain,
}
