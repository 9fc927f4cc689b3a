import { randomBytes } from 'node:crypto'
import type { Clock } from '../../base/clock.ts'
import { openGcm, sealGcm } from './aes.ts'
import type { KmsService } from './kms-client.ts'
import { EncryptedDek } from './kms-messages.ts'
import { DecryptionError, type EncryptionProvider } from './provider.ts'

/** How often the service is asked whether its key is another one by now. */
const STATUS_INTERVAL_MS = 60_000
const DEK_BYTES = 32
/** Beyond so many values under one key, random nonces are no longer safely different. */
const MAX_USES = 2 ** 31
const MAX_KNOWN_DEKS = 1000

interface Dek {
  readonly key: Buffer
  readonly keyId: string
  readonly header: Buffer
  uses: number
}

/**
 * Values are encrypted here, with a data key that an outside service encrypted (KMS v2, KEP-3299). The service is asked
 * once per data key and not once per value; a data key is used until the service has another key of its own.
 */
export function kmsV2(name: string, service: KmsService, clock: Clock): EncryptionProvider & Disposable {
  return new KmsProvider(name, service, clock)
}

class KmsProvider implements EncryptionProvider, Disposable {
  readonly prefix: string
  readonly #service: KmsService
  readonly #clock: Clock
  #current: Dek | undefined
  #making: Promise<Dek> | undefined
  #checkedAt = 0
  #checking = false
  /** Data keys by their encrypted form. */
  readonly #known = new Map<string, Buffer>()

  constructor(name: string, service: KmsService, clock: Clock) {
    this.prefix = `k8s:enc:kms:v2:${name}:`
    this.#service = service
    this.#clock = clock
  }

  encrypt(plain: Buffer, context: string): Buffer | Promise<Buffer> {
    const current = this.#current
    if (current && current.uses < MAX_USES) {
      this.#checkKey(current)
      return seal(current, plain, context)
    }
    return this.#newDek().then((dek) => seal(dek, plain, context))
  }

  decrypt(sealed: Buffer, context: string): Buffer | Promise<Buffer> {
    if (sealed.length < 4) throw new DecryptionError('the stored data is too short')
    const end = 4 + sealed.readUInt32BE(0)
    const header = sealed.subarray(4, end)
    const key = this.#known.get(header.toString('latin1'))
    if (key) return openGcm(key, sealed.subarray(end), context)
    return this.#fetchDek(header).then((fetched) => openGcm(fetched, sealed.subarray(end), context))
  }

  [Symbol.dispose](): void {
    this.#service[Symbol.dispose]()
  }

  /** Goes on with the old data key until a new one is there: a service that is away stops no writes. */
  #checkKey(current: Dek): void {
    const now = this.#clock.now()
    if (this.#checking || now - this.#checkedAt < STATUS_INTERVAL_MS) return
    this.#checking = true
    this.#service
      .status()
      .then(async ({ keyId }) => {
        if (keyId !== current.keyId) await this.#newDek()
      })
      .catch(() => {})
      .finally(() => {
        this.#checking = false
        this.#checkedAt = this.#clock.now()
      })
  }

  #newDek(): Promise<Dek> {
    this.#making ??= this.#makeDek().finally(() => {
      this.#making = undefined
    })
    return this.#making
  }

  async #makeDek(): Promise<Dek> {
    const key = randomBytes(DEK_BYTES)
    const { ciphertext, keyId, annotations } = await this.#service.encrypt(key, uid())
    const header = EncryptedDek.encode({ ciphertext, keyId, annotations })
    this.#remember(header, key)
    this.#checkedAt = this.#clock.now()
    this.#current = { key, keyId, header, uses: 0 }
    return this.#current
  }

  async #fetchDek(header: Buffer): Promise<Buffer> {
    const key = await this.#service.decrypt(EncryptedDek.decode(header), uid())
    if (key.length !== DEK_BYTES)
      throw new DecryptionError('the KMS plugin answered with something that is no data key')
    this.#remember(header, key)
    return key
  }

  #remember(header: Buffer, key: Buffer): void {
    if (this.#known.size >= MAX_KNOWN_DEKS) this.#known.delete(this.#known.keys().next().value!)
    this.#known.set(header.toString('latin1'), key)
  }
}

function seal(dek: Dek, plain: Buffer, context: string): Buffer {
  dek.uses++
  const length = Buffer.allocUnsafe(4)
  length.writeUInt32BE(dek.header.length)
  return Buffer.concat([length, dek.header, sealGcm(dek.key, plain, context)])
}

const uid = () => randomBytes(16).toString('hex')
