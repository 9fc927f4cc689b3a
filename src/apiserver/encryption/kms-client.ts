import type { Clock } from '../../base/clock.ts'
import type { MessageType } from '../../protobuf/message.ts'
import {
  DecryptRequest,
  DecryptResponse,
  type EncryptedKey,
  EncryptRequest,
  EncryptResponse,
  encryptedKey,
  NO_BYTES,
  StatusRequest,
  StatusResponse,
} from './kms-messages.ts'

/** A KMS v2 plugin. */
export interface KmsService extends Disposable {
  status(): Promise<{ readonly version: string; readonly healthz: string; readonly keyId: string }>
  encrypt(plain: Buffer, uid: string): Promise<EncryptedKey>
  decrypt(encrypted: EncryptedKey, uid: string): Promise<Buffer>
}

const SERVICE = '/v2.KeyManagementService'
/** Connects to a plugin at `unix:///path`. gRPC is loaded only here. */
export async function dialKms(endpoint: string, timeoutMs: number, clock: Clock): Promise<KmsService> {
  const { Client, credentials } = await import('@grpc/grpc-js')
  const client = new Client(endpoint, credentials.createInsecure())
  const call = <Q, A>(method: string, request: MessageType<Q>, answer: MessageType<A>, value: Q) =>
    new Promise<A>((resolve, reject) => {
      client.makeUnaryRequest<Q, A>(
        `${SERVICE}/${method}`,
        request.encode,
        answer.decode,
        value,
        { deadline: clock.now() + timeoutMs },
        (error, found) => {
          if (error) reject(new Error(`the KMS plugin at ${endpoint} failed: ${error.message}`))
          else resolve(found!)
        },
      )
    })
  return {
    async status() {
      const { version = '', healthz = '', keyId = '' } = await call('Status', StatusRequest, StatusResponse, {})
      return { version, healthz, keyId }
    },
    async encrypt(plaintext, uid) {
      return encryptedKey(await call('Encrypt', EncryptRequest, EncryptResponse, { plaintext, uid }))
    },
    async decrypt({ ciphertext, keyId, annotations }, uid) {
      const request = { ciphertext, uid, keyId, annotations }
      return (await call('Decrypt', DecryptRequest, DecryptResponse, request)).plaintext ?? NO_BYTES
    },
    [Symbol.dispose]: () => client.close(),
  }
}
