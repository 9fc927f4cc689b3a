/** Registries that ask who we are, break, stall and lie; and a pull that is killed. */
import { execFileSync, spawn } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { systemClock } from '../../src/base/clock.ts'
import { silentLogger } from '../../src/base/log.ts'
import type { RegistryAuth } from '../../src/container-runtime/image-service.ts'
import { type ImageStore, type ImageStoreOptions, openImageStore } from '../../src/container-runtime/image-store.ts'
import { type TestEntry, testTar } from '../../src/container-runtime/images/unpack/tar-entries.contract.ts'
import { buildImage, type ImageLayer, ownArchitecture } from '../tools/build-image.ts'
import { FakeRegistry } from '../tools/fake-registry.ts'

let scratch: string
let registry: FakeRegistry
let store: ImageStore
let reference: string
beforeEach(async () => {
  scratch = mkdtempSync(path.join(tmpdir(), 'image-faults-'))
  registry = await FakeRegistry.start()
  reference = `${registry.address}/app:1`
  store = await open()
})
afterEach(async () => {
  await registry[Symbol.asyncDispose]()
  rmSync(scratch, { recursive: true, force: true })
})

const open = (options: Partial<ImageStoreOptions> = {}) =>
  openImageStore({
    dir: path.join(scratch, 'store'),
    clock: systemClock,
    log: silentLogger,
    stallTimeout: 300,
    inUse: async () => [],
    ...options,
  })

const random = randomBytes(300_000)
let served = 0
const lastLayout = () => path.join(scratch, `layout-${served}`)
function serve(layers: readonly ImageLayer[] = [layerOf({ name: 'file', data: random })]): void {
  const to = path.join(scratch, `layout-${++served}`)
  buildImage({ to, name: 'test.local/app:1', layers })
  registry.serve(to, '1')
}
const layerOf = (...entries: TestEntry[]): ImageLayer => ({ tar: testTar(entries) })

async function fileOf(name = 'file'): Promise<Buffer> {
  const image = await store.status(reference)
  const { layers } = await store.content(image!.id)
  return readFileSync(path.join(layers[0]!, name))
}
const largest = (url: string | undefined, body: Buffer) => url?.includes('/blobs/') === true && body.length > 100_000
/** Nothing of a failed pull is left. */
async function expectNothing(): Promise<void> {
  expect(await store.list()).toEqual([])
  for (const folder of ['work', 'layers']) expect(readdirSync(path.join(scratch, 'store', folder))).toEqual([])
}

describe('credentials', () => {
  const basic = `Basic ${Buffer.from('jane:secret').toString('base64')}`

  test('basic', async () => {
    serve()
    registry.misbehave = ({ headers }, response) => {
      if (headers.authorization === basic) return false
      response.writeHead(401, { 'www-authenticate': 'Basic realm="x"' }).end()
      return true
    }
    await expect(store.pull(reference)).rejects.toThrow('pull access denied')
    await expect(store.pull(reference, { auth: { username: 'jane', password: 'wrong' } })).rejects.toThrow('denied')
    await store.pull(reference, { auth: { username: 'jane', password: 'secret' } })
    expect((await fileOf()).equals(random)).toBe(true)
  })

  test.each<[string, RegistryAuth | undefined, string | undefined]>([
    ['of nobody', undefined, undefined],
    ['for a password', { username: 'jane', password: 'secret' }, basic],
    ['for an identity token', { identityToken: 'identity' }, undefined],
  ])('a token %s', async (_name, auth, sent) => {
    serve()
    let generation = 0
    registry.misbehave = ({ url, headers }, response) => {
      if (url?.startsWith('/token')) {
        response.end(JSON.stringify({ [auth?.identityToken ? 'access_token' : 'token']: `t${++generation}` }))
        return true
      }
      // The first token has expired by the time the blobs are asked for.
      const isGood = headers.authorization === (url?.includes('/blobs/') ? 'Bearer t2' : 'Bearer t1')
      if (isGood) return false
      const realm = `http://${registry.address}/token`
      response.writeHead(401, {
        'www-authenticate': `Bearer realm="${realm}",service="reg",scope="repository:app:pull"`,
      })
      response.end()
      return true
    }
    await store.pull(reference, auth ? { auth } : {})
    const asked = registry.requests.filter(({ url }) => url.startsWith('/token'))
    expect(asked).toHaveLength(2)
    expect(asked[0]?.authorization).toBe(sent)
    if (auth?.identityToken) expect(asked[0]?.body).toContain('refresh_token=identity')
    else expect(asked[0]?.url).toBe('/token?scope=repository%3Aapp%3Apull&service=reg')
  })

  test('are not sent along with a redirect to somebody else', async () => {
    serve()
    const elsewhere = await FakeRegistry.start()
    try {
      elsewhere.misbehave = (request, response) => {
        response.end(request.url === '/there' ? blob : '')
        return true
      }
      let blob: Buffer = Buffer.alloc(0)
      registry.misbehave = ({ url, headers }, response, body) => {
        if (headers.authorization !== basic) {
          response.writeHead(401, { 'www-authenticate': 'Basic realm="x"' }).end()
          return true
        }
        if (!largest(url, body)) return false
        blob = body
        response.writeHead(307, { location: `http://${elsewhere.address}/there` }).end()
        return true
      }
      await store.pull(reference, { auth: { username: 'jane', password: 'secret' } })
      expect(elsewhere.requests).toEqual([{ url: '/there', body: '' }])
    } finally {
      await elsewhere[Symbol.asyncDispose]()
    }
  })

  test('one that a registry names for its tokens must be a web address', async () => {
    registry.misbehave = (_request, response) => {
      response.writeHead(401, { 'www-authenticate': 'Bearer realm="file:///etc/passwd"' }).end()
      return true
    }
    await expect(store.pull(reference)).rejects.toThrow('token server')
  })
})

describe('a line that breaks', () => {
  test('is taken up where it broke', async () => {
    serve()
    let broken = 0
    registry.misbehave = ({ url, headers }, response, body) => {
      if (!largest(url, body) || headers.range || broken++ > 0) return false
      response.writeHead(200, { 'content-length': body.length })
      response.write(body.subarray(0, 100_000), () => response.destroy())
      return true
    }
    await store.pull(reference)
    expect(registry.requests.map(({ range }) => range).filter(Boolean)).toEqual(['bytes=100000-'])
    expect((await fileOf()).equals(random)).toBe(true)
  })

  test('a registry that stalls, refuses for a while or ignores ranges is asked again', async () => {
    serve()
    let count = 0
    registry.misbehave = ({ url }, response, body) => {
      if (!largest(url, body)) return false
      count++
      if (count === 1) return true
      if (count === 2) response.writeHead(503).end()
      else if (count === 3) response.writeHead(200, { 'content-length': body.length }).write(body.subarray(0, 5000))
      else response.writeHead(200).end(body)
      return true
    }
    await store.pull(reference)
    expect((await fileOf()).equals(random)).toBe(true)
  })

  test('one that stalls for ever is given up', async () => {
    serve()
    store = await open({ stallTimeout: 30 })
    registry.misbehave = ({ url }) => url?.includes('/manifests/') === true
    await expect(store.pull(reference)).rejects.toMatchObject({
      code: 'Unavailable',
      message: expect.stringContaining('no answer for 0.03 seconds'),
    })
    await expectNothing()
  })

  test('whoever loses interest leaves nothing behind', async () => {
    serve()
    const abort = new AbortController()
    registry.misbehave = ({ url }, _response, body) => {
      if (!largest(url, body)) return false
      abort.abort(new Error('enough'))
      return true
    }
    await expect(store.pull(reference, { signal: abort.signal })).rejects.toThrow('enough')
    await expect.poll(() => readdirSync(path.join(scratch, 'store', 'work'))).toEqual([])
    await expectNothing()
  })
})

describe('a registry that lies', () => {
  const digests = () => registry.requests.flatMap(({ url }) => /\/blobs\/(.*)$/.exec(url)?.[1] ?? [])

  test('about a layer', async () => {
    serve()
    registry.misbehave = ({ url }, response, body) => {
      if (!largest(url, body)) return false
      const wrong = Buffer.from(body)
      wrong[wrong.length - 20]! ^= 1
      response.end(wrong)
      return true
    }
    await expect(store.pull(reference)).rejects.toThrow(/unexpected commit digest sha256:.*, expected sha256:/)
    await expectNothing()
  })

  test('about the size of a layer', async () => {
    serve()
    registry.misbehave = ({ url }, response, body) => {
      if (!largest(url, body)) return false
      response.end(Buffer.concat([body, body]))
      return true
    }
    await expect(store.pull(reference)).rejects.toThrow('larger than it says')
    await expectNothing()
  })

  test('about a configuration, a manifest, or with endless documents', async () => {
    serve()
    registry.misbehave = ({ url }, response, body) => {
      if (!url?.includes('/blobs/') || body.length > 100_000) return false
      response.end('{}')
      return true
    }
    await expect(store.pull(reference)).rejects.toThrow(/the configuration sha256:.* has the digest/)
    const digest = `sha256:${'1'.repeat(64)}`
    registry.put(Buffer.from('{"schemaVersion":2}'), 'application/json')
    registry.misbehave = (_request, response) => {
      response.end('{"schemaVersion":2}')
      return true
    }
    await expect(store.pull(`${registry.address}/app@${digest}`)).rejects.toThrow(
      `the manifest ${digest} has the digest`,
    )
    registry.misbehave = (_request, response) => {
      response.end(Buffer.alloc(9 * 1024 * 1024, ' '))
      return true
    }
    await expect(store.pull(reference)).rejects.toThrow('larger than')
    await expectNothing()
  })

  test.each([
    [
      'digests that are paths',
      { config: { digest: 'sha256:../../../etc/passwd', size: 1 }, layers: [] },
      'is no digest',
    ],
    ['sizes that are none', { config: { digest: `sha256:${'a'.repeat(64)}`, size: -1 }, layers: [] }, 'is no size'],
    ['a manifest of the first schema', { schemaVersion: 1 }, 'schema 1'],
    ['an index that is an image', { manifests: [], layers: [] }, 'at once'],
    ['nothing', {}, 'neither'],
    ['an index of other machines', { manifests: [] }, 'no match for platform'],
  ])('%s', async (_name, document, message) => {
    registry.misbehave = (_request, response) => {
      response.end(JSON.stringify({ schemaVersion: 2, ...document }))
      return true
    }
    await expect(store.pull(reference)).rejects.toThrow(message)
    await expectNothing()
    expect(digests()).toEqual([])
  })

  test('layers that are bombs, hostile, or of other content than the configuration says', async () => {
    serve([layerOf({ name: 'zeros', data: Buffer.alloc(5_000_000) })])
    store = await open({ limits: { layerBytes: 1_000_000 } })
    await expect(store.pull(reference)).rejects.toThrow('more than 1000000 bytes')
    await expectNothing()
    store = await open()
    serve([layerOf({ name: '../../../../evil', data: 'x' })])
    await expect(store.pull(reference)).rejects.toThrow('leads out of the image')
    await expectNothing()
    const other = testTar([{ name: 'other', data: 'x' }])
    const compression = () => ({ bytes: other, mediaType: 'application/vnd.oci.image.layer.v1.tar' })
    serve([{ tar: testTar([{ name: 'file', data: 'x' }]), compression }])
    await expect(store.pull(reference)).rejects.toThrow('wrong diff id calculated on extraction')
    await expectNothing()
  })
})

test('an index gives the image of this machine, and the digest of the index', async () => {
  serve()
  const manifests = JSON.parse(readFileSync(path.join(lastLayout(), 'index.json'), 'utf8')) as {
    manifests: { digest: string }[]
  }
  const [ours] = manifests.manifests
  const other = registry.put(Buffer.from('{}'), 'application/json')
  const entry = (digest: string, os: string, architecture: string) => ({
    ...ours,
    digest,
    platform: { os, architecture },
  })
  const index = JSON.stringify({
    schemaVersion: 2,
    manifests: [
      entry(other, 'linux', 's390x'),
      entry(other, 'unknown', 'unknown'),
      entry(ours!.digest, 'linux', ownArchitecture()),
    ],
  })
  const digest = registry.put(Buffer.from(index), 'application/vnd.oci.image.index.v1+json')
  registry.tag('1', digest)
  const image = await store.pull(reference)
  expect(image.repoDigests).toEqual([`${registry.address}/app@${digest}`])
  expect((await store.pull(`${registry.address}/app@${digest}`)).id).toBe(image.id)
  expect((await fileOf()).equals(random)).toBe(true)
})

test('two pulls of one image are one; a mirror is asked first, without the credentials', async () => {
  serve()
  store = await open({ registries: { mirrors: { 'registry.example': [`http://${registry.address}`] } } })
  const auth = { username: 'jane', password: 'secret' }
  registry.misbehave = ({ headers }, response) => {
    if (headers.authorization) response.writeHead(400).end()
    return headers.authorization !== undefined
  }
  const pull = () => store.pull('registry.example/app:1', { auth })
  const [first, second] = await Promise.all([pull(), pull()])
  expect(first).toBe(second)
  expect(first.repoTags).toEqual(['registry.example/app:1'])
  expect(registry.requests.filter(({ url }) => url.includes('/manifests/'))).toHaveLength(1)
})

test('zstd', async () => {
  const compression = (tar: Buffer) => ({
    bytes: execFileSync('zstd', ['-c', '-19'], { input: tar, maxBuffer: 1e9, stdio: ['pipe', 'pipe', 'ignore'] }),
    mediaType: 'application/vnd.oci.image.layer.v1.tar+zstd',
  })
  serve([
    {
      tar: testTar([
        { name: 'file', data: random },
        { name: 'zeros', data: Buffer.alloc(3_000_000) },
      ]),
      compression,
    },
  ])
  await store.pull(reference)
  expect((await fileOf()).equals(random)).toBe(true)
  expect((await fileOf('zeros')).equals(Buffer.alloc(3_000_000))).toBe(true)
})

test('killed at any moment, a store is as before or as after', async () => {
  const files = Array.from({ length: 400 }, (_, i) => ({ name: `d${i % 20}/f${i}`, data: randomBytes(2000) }))
  serve([{ tar: testTar(files) }, layerOf({ name: 'd1/.wh.f1', data: '' }, { name: 'top', data: 'x' })])
  const program = path.join(scratch, 'pull.ts')
  const source = path.resolve(import.meta.dirname, '../../src')
  writeFileSync(
    program,
    `import { openImageStore } from '${source}/container-runtime/image-store.ts'
     import { systemClock } from '${source}/base/clock.ts'
     import { silentLogger } from '${source}/base/log.ts'
     const store = await openImageStore({ dir: '${scratch}/store', clock: systemClock, log: silentLogger, inUse: async () => [] })
     console.log('begin')
     await store.pull('${reference}')
     console.log('end')`,
  )
  const bundle = path.join(scratch, 'pull.mjs')
  const { build } = await import('esbuild')
  const options = { bundle: true, platform: 'node', format: 'esm', target: 'node20', logLevel: 'error' } as const
  await build({ ...options, entryPoints: [program], outfile: bundle, external: ['koffi'] })
  let finished = 0
  for (let round = 0; round < 12; round++) {
    const env = { ...process.env, NODE_PATH: path.resolve(source, '../node_modules') }
    const child = spawn(process.execPath, [bundle], { stdio: ['ignore', 'pipe', 'inherit'], env })
    const closed = new Promise((resolve) => child.once('close', resolve))
    child.stdout.once('data', () => setTimeout(() => child.kill('SIGKILL'), round * 12))
    child.stdout.on('data', (text: Buffer) => (finished += text.includes('end') ? 1 : 0))
    await closed
    store = await open()
    expect(readdirSync(path.join(scratch, 'store', 'work'))).toEqual([])
    const image = await store.status(reference)
    if (image) await expectWhole()
    if (round % 3 === 2) await store.remove(image?.id ?? reference)
  }
  await store.pull(reference)
  await expectWhole()
  expect(finished).toBeLessThan(12)

  async function expectWhole(): Promise<void> {
    const { layers } = await store.content((await store.status(reference))!.id)
    const root = layers[0]!
    expect(readFileSync(path.join(root, 'top'), 'utf8')).toBe('x')
    for (const { name, data } of files.slice(2))
      expect(
        createHash('sha256')
          .update(readFileSync(path.join(root, name)))
          .digest('hex'),
      ).toBe(createHash('sha256').update(data).digest('hex'))
  }
})
