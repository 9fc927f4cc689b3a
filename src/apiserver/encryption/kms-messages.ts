import { bytes, bytesMap, type MessageOf, message, text } from '../../protobuf/message.ts'

/** The messages of the gRPC service `v2.KeyManagementService` (k8s.io/kms/apis/v2). */

export type Annotations = Readonly<Record<string, Buffer>>

export interface EncryptedKey {
  readonly ciphertext: Buffer
  readonly keyId: string
  readonly annotations: Annotations
}

export const StatusRequest = message({})
export const StatusResponse = message({ version: text(1), healthz: text(2), keyId: text(3) })

export const EncryptRequest = message({ plaintext: bytes(1), uid: text(2) })
const ENCRYPTED_KEY = { ciphertext: bytes(1), keyId: text(2), annotations: bytesMap(3) }
export const EncryptResponse = message(ENCRYPTED_KEY)

export const DecryptRequest = message({ ciphertext: bytes(1), uid: text(2), keyId: text(3), annotations: bytesMap(4) })
export const DecryptResponse = message({ plaintext: bytes(1) })

export const NO_BYTES = Buffer.alloc(0)

/** Fills in the fields that the message left out. */
export const encryptedKey = (found: MessageOf<typeof ENCRYPTED_KEY>): EncryptedKey => ({
  ciphertext: found.ciphertext ?? NO_BYTES,
  keyId: found.keyId ?? '',
  annotations: found.annotations ?? {},
})

/** The header in front of an encrypted value: the data key as the service encrypted it. */
export const EncryptedDek = {
  encode: (key: EncryptedKey) => EncryptResponse.encode(key),
  decode: (header: Buffer) => encryptedKey(EncryptResponse.decode(header)),
}
