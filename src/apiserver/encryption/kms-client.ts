import type { Clock } from '../../base/clock.ts'
import { annotationsOf, bytesOf, type EncryptedKey, readFields, textOf, writeFields } from './kms-messages.ts'

/** A KMS v2 plugin. */
export interface KmsService extends Disposable {
  status(): Promise<{ readonly version: string; readonly healthz: string; readonly keyId: string }>
  encrypt(plain: Buffer, uid: string): Promise<EncryptedKey>
  decrypt(encrypted: EncryptedKey, uid: string): Promise<Buffer>
}

const SERVICE = '/v2.KeyManagementService'
const asIs = (bytes: Buffer) => bytes

/** Connects to a plugin at `unix:///path`. gRPC is loaded only here. */
export async function dialKms(endpoint: string, timeoutMs: number, clock: Clock): Promise<KmsService> {
  const { Client, credentials } = await import('@grpc/grpc-js')
  const client = new Client(endpoint, credentials.createInsecure())
  const call = (method: string, request: Buffer) =>
    new Promise<Map<number, Buffer[]>>((resolve, reject) => {
      const deadline = clock.now() + timeoutMs
      client.makeUnaryRequest<Buffer, Buffer>(
        `${SERVICE}/${method}`,
        asIs,
        asIs,
        request,
        { deadline },
        (error, answer) => {
          if (error) reject(new Error(`the KMS plugin at ${endpoint} failed: ${error.message}`))
          else resolve(readFields(answer ?? Buffer.alloc(0)))
        },
      )
    })
  return {
    async status() {
      const fields = await call('Status', writeFields([]))
      return { version: textOf(fields, 1), healthz: textOf(fields, 2), keyId: textOf(fields, 3) }
    },
    async encrypt(plain, uid) {
      const fields = await call('Encrypt', writeFields([plain, uid]))
      return { ciphertext: bytesOf(fields, 1), keyId: textOf(fields, 2), annotations: annotationsOf(fields, 3) }
    },
    async decrypt({ ciphertext, keyId, annotations }, uid) {
      return bytesOf(await call('Decrypt', writeFields([ciphertext, uid, keyId, annotations])), 1)
    },
    [Symbol.dispose]: () => client.close(),
  }
}
