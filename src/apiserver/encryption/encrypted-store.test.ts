import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { systemClock } from '../../base/clock.ts'
import { silentLogger } from '../../base/log.ts'
import { systemRandom } from '../../base/random.ts'
import { openEmbeddedStore, openMemoryStore } from '../../store/embedded.ts'
import { storeContract } from '../../store/store.contract.ts'
import type { Store } from '../../store/store.ts'
import { RESOURCES, SecureServer } from '../security.fixture.ts'
import { type EncryptionConfiguration, readEncryption } from './configuration.ts'
import { startEncryption } from './configured.ts'
import { encryptedStore } from './encrypted-store.ts'

const KEY_1 = Buffer.alloc(32, 1).toString('base64')
const KEY_2 = Buffer.alloc(16, 2).toString('base64')
type Providers = NonNullable<NonNullable<EncryptionConfiguration['resources']>[number]['providers']>

const FIRST: Providers = [{ aesgcm: { keys: [{ name: 'one', secret: KEY_1 }] } }]
const ROTATED: Providers = [
  {
    aesgcm: {
      keys: [
        { name: 'two', secret: KEY_2 },
        { name: 'one', secret: KEY_1 },
      ],
    },
  },
]
const configuration = (providers: Providers, resources = ['secrets']): EncryptionConfiguration => ({
  kind: 'EncryptionConfiguration',
  apiVersion: 'apiserver.config.k8s.io/v1',
  resources: [{ resources, providers }],
})

async function over(inner: Store, providers: Providers, resources?: string[]): Promise<Store> {
  return encryptedStore(inner, await readEncryption(configuration(providers, resources), systemClock), silentLogger)
}

storeContract('encrypted', async () => {
  const inner = await openMemoryStore()
  return { store: await over(inner, FIRST, ['*.*']), cleanUp: () => inner[Symbol.asyncDispose]() }
})

describe('a store with encrypted secrets', () => {
  const SECRET = '/registry/secrets/default/a'
  const put = (key: string, value: string, revisionSlot?: number) => ({
    key,
    value: Buffer.from(value),
    ...(revisionSlot !== undefined && { revisionSlot }),
  })

  it('holds what nobody can read below, and writes the revision where it belongs above', async () => {
    await using inner = await openMemoryStore()
    const store = await over(inner, FIRST)
    const revision = await store.commit([], [put(SECRET, '{"v":"","secret":"hunter2"}', 6)])
    expect(String((await store.get(SECRET))?.value)).toBe(`{"v":"${revision}","secret":"hunter2"}`)
    const below = (await inner.get(SECRET))!.value
    expect(below.toString('latin1')).toMatch(/^k8s:enc:aesgcm:v1:one:/)
    expect(below.includes('hunter2')).toBe(false)
  })

  it('leaves other resources alone', async () => {
    await using inner = await openMemoryStore()
    await (await over(inner, FIRST)).commit([], [put('/registry/pods/default/a', 'pod')])
    expect(String((await inner.get('/registry/pods/default/a'))?.value)).toBe('pod')
  })

  it('writes with the first key and reads with all; writing again is rotation', async () => {
    await using inner = await openMemoryStore()
    await (await over(inner, FIRST)).commit([], [put(SECRET, 'hunter2')])
    const rotated = await over(inner, ROTATED)
    const read = (await rotated.get(SECRET))!.value
    expect(String(read)).toBe('hunter2')
    await rotated.commit([], [{ key: SECRET, value: read }])
    expect(String((await inner.get(SECRET))!.value)).toMatch(/^k8s:enc:aesgcm:v1:two:/)
  })

  it.each<[string, Providers, string]>([
    ['no such key', [{ aesgcm: { keys: [{ name: 'two', secret: KEY_2 }] } }], 'it was written as aesgcm:v1:one'],
    ['another key of that name', [{ aesgcm: { keys: [{ name: 'one', secret: KEY_2 }] } }], 'the key does not open it'],
    ['encryption turned off', [{ identity: {} }], 'no matching prefix found'],
  ])('says what is wrong: %s', async (_, providers, message) => {
    await using inner = await openMemoryStore()
    await (await over(inner, FIRST)).commit([], [put(SECRET, 'hunter2')])
    const wrong = await over(inner, providers)
    await expect(wrong.get(SECRET)).rejects.toThrow(message)
    await expect(wrong.list('/registry/secrets/')).rejects.toThrow(`unable to transform key "${SECRET}"`)
  })

  it('does not open a value that was moved to another key', async () => {
    await using inner = await openMemoryStore()
    const store = await over(inner, FIRST)
    await store.commit([], [put(SECRET, 'hunter2')])
    const { value } = (await inner.get(SECRET))!
    await inner.commit([], [{ key: '/registry/secrets/mine/a', value }])
    await expect(store.get('/registry/secrets/mine/a')).rejects.toThrow('or it was changed')
  })

  it('is written with secretbox, too', async () => {
    await using inner = await openMemoryStore()
    const store = await over(inner, [{ secretbox: { keys: [{ name: 'one', secret: KEY_1 }] } }])
    const revision = await store.commit([], [put(SECRET, '{"v":"","secret":"hunter2"}', 6)])
    expect((await inner.get(SECRET))!.value.toString('latin1')).toMatch(/^k8s:enc:secretbox:v1:one:/)
    expect(String((await store.get(SECRET))?.value)).toBe(`{"v":"${revision}","secret":"hunter2"}`)
  })

  it('is written with the newest configuration that is good', async () => {
    await using inner = await openMemoryStore()
    let replace = async (_: EncryptionConfiguration) => {}
    const changes = (take: typeof replace) => {
      replace = take
    }
    using encryption = await startEncryption(configuration(FIRST), changes, systemClock, silentLogger)
    const store = encryptedStore(inner, encryption, silentLogger)
    const written = async () => {
      await store.commit([], [put(SECRET, 'hunter2')])
      expect(String((await store.get(SECRET))?.value)).toBe('hunter2')
      return (await inner.get(SECRET))!.value.toString('latin1').split(':')[4]
    }
    expect(await written()).toBe('one')
    await replace(configuration([]))
    expect(await written()).toBe('one')
    await replace(configuration(ROTATED))
    expect(await written()).toBe('two')
  })

  it('reads what was written before, with identity', async () => {
    await using inner = await openMemoryStore()
    await inner.commit([], [put(SECRET, 'old')])
    expect(String((await (await over(inner, [...FIRST, { identity: {} }])).get(SECRET))?.value)).toBe('old')
    await expect((await over(inner, FIRST)).get(SECRET)).rejects.toThrow('plain text')
  })
})

describe('readEncryption', () => {
  it.each<[string, object, string]>([
    ['another kind', { kind: 'Pod' }, 'this is no EncryptionConfiguration'],
    ['no resources', { resources: [] }, 'resources: required'],
    ['a short key', configuration([{ aesgcm: { keys: [{ name: 'a', secret: 'YQ==' }] } }]), '16 or 24 or 32 bytes'],
    ['a short box key', configuration([{ secretbox: { keys: [{ name: 'a', secret: KEY_2 }] } }]), 'has 32 bytes'],
    ['no base64', configuration([{ aesgcm: { keys: [{ name: 'a', secret: '%%%' }] } }]), 'must be base64'],
    ['two in one', configuration([{ identity: {}, aesgcm: {} }]), 'exactly one provider'],
    ['KMS v1', configuration([{ kms: { apiVersion: 'v1', name: 'a', endpoint: 'unix:///x' } }]), 'only v2'],
    ['KMS by the network', configuration([{ kms: { name: 'a', endpoint: 'http://x' } }]), 'unix:///path'],
  ])('refuses %s', async (_, change, message) => {
    await expect(readEncryption({ ...configuration(FIRST), ...change }, systemClock)).rejects.toThrow(message)
  })

  it.each([
    ['secrets', 'secrets', true],
    ['secrets', 'secrets.example.com', false],
    ['*.', 'configmaps', true],
    ['*.', 'deployments.apps', false],
    ['*.apps', 'deployments.apps', true],
    ['*.apps', 'apps', false],
    ['*.*', 'anything.at.all', true],
  ])('%s covers %s: %s', async (pattern, resource, expected) => {
    const encryption = await readEncryption(configuration(FIRST, [pattern]), systemClock)
    expect(encryption.providersOf(resource) !== undefined).toBe(expected)
  })
})

it('an API server leaves no plain secret on disk, and finds it after a restart', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'sampan-encryption-'))
  const read = async (providers: Providers, work: (server: SecureServer) => Promise<void>) => {
    await using store = await openEmbeddedStore({ directory, clock: systemClock, random: systemRandom })
    await using server = await SecureServer.start({ store, encryption: configuration(providers) })
    await work(server)
  }
  try {
    await read(FIRST, async (server) => {
      await server.create(RESOURCES.secrets, { metadata: { name: 'a' }, stringData: { password: 'correct-horse' } })
      await server.create(RESOURCES.configMaps, { metadata: { name: 'a' }, data: { note: 'battery-staple' } })
    })
    const files = await readdir(directory, { recursive: true, withFileTypes: true })
    const bytes = Buffer.concat(
      await Promise.all(files.filter((one) => one.isFile()).map((one) => readFile(join(one.parentPath, one.name)))),
    )
    const encoded = Buffer.from('correct-horse').toString('base64')
    expect([bytes.includes('correct-horse'), bytes.includes(encoded)]).toEqual([false, false])
    expect([bytes.includes('battery-staple'), bytes.includes('k8s:enc:aesgcm:v1:one:')]).toEqual([true, true])
    await read(ROTATED, async ({ admin }) => {
      const found = await admin.call({ verb: 'get', resource: RESOURCES.secrets, namespace: 'default', name: 'a' })
      expect(found).toMatchObject({ data: { password: encoded } })
    })
  } finally {
    await rm(directory, { recursive: true })
  }
})
