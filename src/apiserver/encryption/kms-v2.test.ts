import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Server as GrpcServer, type Server, ServerCredentials, status } from '@grpc/grpc-js'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { systemClock } from '../../base/clock.ts'
import { VirtualClock } from '../../base/virtual-clock.ts'
import { dialKms } from './kms-client.ts'
import { DecryptRequest, DecryptResponse, EncryptRequest, EncryptResponse, StatusResponse } from './kms-messages.ts'
import { kmsV2 } from './kms-v2.ts'

/** A plugin whose keys only turn bits over, each its own. */
class Plugin {
  keyId = 'key-1'
  readonly calls: string[] = []
  readonly #server: Server = new GrpcServer()

  async listen(path: string): Promise<void> {
    const asIs = (bytes: Buffer) => bytes
    const method = (name: string) => ({
      path: `/v2.KeyManagementService/${name}`,
      requestStream: false,
      responseStream: false,
      requestSerialize: asIs,
      requestDeserialize: asIs,
      responseSerialize: asIs,
      responseDeserialize: asIs,
    })
    type Call = { request: Buffer }
    type Answer = (error: { code: number; details: string } | null, value?: Buffer) => void
    const flip = (bytes: Buffer, keyId: string) => Buffer.from(bytes.map((byte) => byte ^ keyId.charCodeAt(4)))
    this.#server.addService(
      { Status: method('Status'), Encrypt: method('Encrypt'), Decrypt: method('Decrypt') },
      {
        Status: (_: Call, answer: Answer) => {
          this.calls.push('status')
          answer(null, StatusResponse.encode({ version: 'v2', healthz: 'ok', keyId: this.keyId }))
        },
        Encrypt: ({ request }: Call, answer: Answer) => {
          this.calls.push('encrypt')
          const plain = EncryptRequest.decode(request).plaintext!
          const annotations = { 'a.example.com': Buffer.from('note') }
          answer(null, EncryptResponse.encode({ ciphertext: flip(plain, this.keyId), keyId: this.keyId, annotations }))
        },
        Decrypt: ({ request }: Call, answer: Answer) => {
          this.calls.push('decrypt')
          const { ciphertext, keyId, annotations } = DecryptRequest.decode(request)
          if (!annotations) return answer({ code: status.INVALID_ARGUMENT, details: 'no annotations' })
          answer(null, DecryptResponse.encode({ plaintext: flip(ciphertext!, keyId!) }))
        },
      },
    )
    await new Promise<void>((resolve, reject) =>
      this.#server.bindAsync(`unix://${path}`, ServerCredentials.createInsecure(), (error) =>
        error ? reject(error) : resolve(),
      ),
    )
  }

  close(): void {
    this.#server.forceShutdown()
  }
}

let directory: string
let plugin: Plugin
let endpoint: string
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'sampan-kms-'))
  plugin = new Plugin()
  await plugin.listen(join(directory, 'kms.sock'))
  endpoint = `unix://${join(directory, 'kms.sock')}`
})
afterEach(async () => {
  plugin.close()
  await rm(directory, { recursive: true })
})

const plain = Buffer.from('hunter2')

it('asks the plugin once per data key, and once more to read after a restart', async () => {
  using first = kmsV2('vault', await dialKms(endpoint, 5000, systemClock), systemClock)
  const sealed = await first.encrypt(plain, '/a')
  const second = await first.encrypt(plain, '/b')
  expect([sealed.includes('hunter2'), String(await first.decrypt(second, '/b'))]).toEqual([false, 'hunter2'])
  expect(plugin.calls).toEqual(['encrypt'])
  using later = kmsV2('vault', await dialKms(endpoint, 5000, systemClock), systemClock)
  expect(String(await later.decrypt(sealed, '/a'))).toBe('hunter2')
  expect(String(await later.decrypt(second, '/b'))).toBe('hunter2')
  expect(plugin.calls).toEqual(['encrypt', 'decrypt'])
  expect(() => later.decrypt(sealed, '/elsewhere')).toThrow('or it was changed')
})

it('takes another data key when the plugin has another key, and still reads the old values', async () => {
  const clock = new VirtualClock()
  using provider = kmsV2('vault', await dialKms(endpoint, 5000, systemClock), clock)
  const old = await provider.encrypt(plain, '/a')
  plugin.keyId = 'key-2'
  clock.advance(61_000)
  await provider.encrypt(plain, '/a')
  await expect.poll(() => plugin.calls).toEqual(['encrypt', 'status', 'encrypt'])
  await expect.poll(async () => (await provider.encrypt(plain, '/a')).includes('key-2')).toBe(true)
  expect(String(await provider.decrypt(old, '/a'))).toBe('hunter2')
})

it('says that the plugin is away', async () => {
  plugin.close()
  using provider = kmsV2('vault', await dialKms(endpoint, 500, systemClock), systemClock)
  await expect(provider.encrypt(plain, '/a')).rejects.toThrow(`the KMS plugin at ${endpoint} failed`)
})
