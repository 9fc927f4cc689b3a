/** One way to make values unreadable. Answers at once wherever it can. */
export interface EncryptionProvider {
  /** What every value written by it begins with; empty for the provider that changes nothing. */
  readonly prefix: string
  /** `context` is where the value belongs: bytes that were moved elsewhere do not open. */
  encrypt(plain: Buffer, context: string): Buffer | Promise<Buffer>
  /** Gets the bytes after the prefix. Throws if the key is not the one, or the bytes were changed. */
  decrypt(sealed: Buffer, context: string): Buffer | Promise<Buffer>
}

/** What every encrypted value begins with, whoever encrypted it. */
export const ENCRYPTED_PREFIX = 'k8s:enc:'

export class DecryptionError extends Error {
  override readonly name = 'DecryptionError'
}
