/** The image store against a real registry, and with the marks of a real overlay. */
import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { build as bundle } from 'esbuild'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { systemClock } from '../../src/base/clock.ts'
import { silentLogger } from '../../src/base/log.ts'
import type { PullProgress } from '../../src/container-runtime/image-service.ts'
import { type ImageStore, type ImageStoreOptions, openImageStore } from '../../src/container-runtime/image-store.ts'
import { testTar } from '../../src/container-runtime/images/unpack/tar-entries.contract.ts'
import { type SyscallAgents, startSyscallAgents } from '../../src/linux/syscall-agent.ts'
import { asRoot } from '../linux/as-root.ts'
import { type BuiltImage, buildImage, type ImageLayer } from '../tools/build-image.ts'
import { skopeo, TestRegistry } from '../tools/registry.ts'
import { makeBusyboxRoot } from './busybox-image.ts'

const NOBODY = 65534

/** In a process of its own, which has no rights. */
async function importAsNobody(dir: string, layout: string, rootless: boolean): Promise<string[]> {
  const source = path.resolve(import.meta.dirname, '../../src')
  const contents = `
    import { openImageStore } from '${source}/container-runtime/image-store.ts'
    import { startSyscallAgents } from '${source}/linux/syscall-agent.ts'
    import { systemClock as clock } from '${source}/base/clock.ts'
    import { silentLogger as log } from '${source}/base/log.ts'
    const agents = await startSyscallAgents()
    const store = await openImageStore({ dir: '${dir}', clock, log, agent: agents.host, rootless: ${rootless} })
    const [image] = await store.import('${layout}')
    console.log(JSON.stringify((await store.content(image.id)).layers))
    await agents[Symbol.asyncDispose]()`
  const outfile = path.join(path.dirname(dir), 'import.mjs')
  const options = { bundle: true, platform: 'node', format: 'esm', target: 'node20', logLevel: 'error' } as const
  await bundle({ ...options, stdin: { contents, resolveDir: source }, outfile })
  const env = { ...process.env, NODE_PATH: path.resolve(source, '../node_modules') }
  const answer = execFileSync(process.execPath, [outfile], { uid: NOBODY, gid: NOBODY, encoding: 'utf8', env })
  return JSON.parse(answer) as string[]
}

asRoot('image store', () => {
  let agents: SyscallAgents
  let registry: TestRegistry
  let scratch: string
  let store: ImageStore
  beforeAll(async () => {
    agents = await startSyscallAgents()
    registry = await TestRegistry.start()
  })
  afterAll(async () => {
    await registry?.[Symbol.asyncDispose]()
    await agents?.[Symbol.asyncDispose]()
  })
  beforeEach(async () => {
    scratch = mkdtempSync(path.join(tmpdir(), 'images-'))
    store = await open()
  })
  afterEach(() => rmSync(scratch, { recursive: true, force: true }))

  const open = (options: Partial<ImageStoreOptions> = {}) =>
    openImageStore({
      dir: path.join(scratch, 'store'),
      clock: systemClock,
      log: silentLogger,
      agent: agents.host,
      inUse: async () => [],
      ...options,
    })
  let built = 0
  const build = (layers: readonly ImageLayer[], name = 'test.local/app:1', config = {}): BuiltImage =>
    buildImage({ to: path.join(scratch, `layout-${++built}`), name, layers, config })
  const layersLeft = () => readdirSync(path.join(scratch, 'store', 'layers'))

  /** What a container sees: the layers stacked by the kernel. */
  async function merged(reference: string): Promise<string> {
    const { layers } = await store.content((await store.status(reference))!.id)
    const target = mkdtempSync(path.join(scratch, 'merged-'))
    const all = layers.length > 1 ? layers : [...layers, mkdtempSync(path.join(scratch, 'empty-'))]
    execFileSync('mount', ['-t', 'overlay', 'overlay', '-o', `ro,lowerdir=${all.join(':')}`, target])
    try {
      execFileSync('cp', ['-a', target, `${target}-copy`])
    } finally {
      execFileSync('umount', [target])
    }
    return `${target}-copy`
  }

  describe('pull', () => {
    test.each([
      ['OCI', []],
      ['Docker schema 2', ['--format', 'v2s2']],
    ])('%s from a registry', async (_form, args) => {
      const root = path.join(scratch, 'busybox')
      makeBusyboxRoot(root)
      chmodSync(path.join(root, 'tmp'), 0o1777)
      const config = {
        Cmd: ['sh'],
        Env: ['PATH=/bin', 'A=b'],
        User: '1000:5',
        WorkingDir: '/tmp',
        StopSignal: 'SIGINT',
      }
      const image = build([{ folder: root }], 'test.local/busybox:1', config)
      const reference = await registry.push(`oci:${image.folder}`, 'busybox:1', ...args)
      const progress: PullProgress[] = []
      const pulled = await store.pull(reference, { onProgress: (step) => progress.push(step) })
      expect(pulled).toMatchObject({ repoTags: [reference], uid: 1000, pinned: false })
      expect(pulled.repoDigests[0]).toMatch(/busybox@sha256:/)
      expect(progress.at(-1)).toMatchObject({ received: progress.at(-1)!.total })
      const { config: read, layers } = await store.content(pulled.id)
      expect(read).toEqual({
        user: '1000:5',
        env: ['PATH=/bin', 'A=b'],
        entrypoint: [],
        command: ['sh'],
        workingDir: '/tmp',
        stopSignal: 'SIGINT',
      })
      execFileSync('diff', ['-r', '--no-dereference', root, layers[0]!])
      expect(lstatSync(path.join(layers[0]!, 'tmp')).mode & 0o7777).toBe(0o1777)
      for (const name of [reference, pulled.id, pulled.repoDigests[0]!])
        expect((await store.status(name))?.id).toBe(pulled.id)
      expect(readdirSync(path.join(scratch, 'store', 'work'))).toEqual([])
    })

    test('a layer of two images is there once', async () => {
      const base = testTar([{ name: 'base', data: 'base' }])
      const one = build([{ tar: base }, { tar: testTar([{ name: 'one', data: '1' }]) }])
      const two = build([{ tar: base }, { tar: testTar([{ name: 'two', data: '2' }]) }])
      const [a, b] = [await registry.push(`oci:${one.folder}`, 'one'), await registry.push(`oci:${two.folder}`, 'two')]
      await Promise.all([store.pull(a), store.pull(b), store.pull(a)])
      expect(layersLeft()).toHaveLength(3)
      await store.remove(a)
      expect(layersLeft()).toHaveLength(2)
      expect(await store.status(a)).toBeUndefined()
      expect(readdirSync(await merged(b)).sort()).toEqual(['base', 'two'])
      await store.remove((await store.status(b))!.id)
      expect(layersLeft()).toEqual([])
      expect(await store.list()).toEqual([])
    })

    test('a tag that moves leaves the old image without it', async () => {
      const reference = `${registry.address}/moving:latest`
      await registry.push(`oci:${build([{ tar: testTar([{ name: 'v', data: '1' }]) }]).folder}`, 'moving:latest')
      const first = await store.pull(reference)
      await registry.push(`oci:${build([{ tar: testTar([{ name: 'v', data: '2' }]) }]).folder}`, 'moving:latest')
      const second = await store.pull(reference)
      expect(second.id).not.toBe(first.id)
      expect((await store.status(reference))?.id).toBe(second.id)
      expect((await store.status(first.id))?.repoTags).toEqual([])
    })

    test('what is not there, and what is not for this machine', async () => {
      await expect(store.pull(`${registry.address}/nothing:here`)).rejects.toMatchObject({
        code: 'NotFound',
        message: expect.stringContaining(`${registry.address}/nothing:here: not found`),
      })
      const other = buildImage({
        to: path.join(scratch, 'other'),
        name: 'x/y:z',
        layers: [{ tar: testTar([]) }],
        architecture: 's390x',
      })
      const reference = await registry.push(`oci:${other.folder}`, 'other:1')
      await expect(store.pull(reference)).rejects.toThrow('no match for platform')
      await expect(store.pull('Bad Name')).rejects.toThrow('invalid reference format')
    })
  })

  describe('layers', () => {
    test('whiteouts, opaque folders and links through layers, as overlay shows them', async () => {
      const image = build([
        {
          tar: testTar([
            { name: 'etc/', type: '5', mode: 0o750, uid: 7, gid: 8 },
            { name: 'etc/gone', data: '1' },
            { name: 'etc/stays', data: '1' },
            { name: 'opaque/old', data: '1' },
            { name: 'folder/inner/file', data: '1' },
            { name: 'becomes-file/x', data: '1' },
            { name: 'usr/lib/a', data: '1' },
            { name: 'lib', type: '2', link: 'usr/lib' },
          ]),
        },
        {
          tar: testTar([
            { name: 'etc/.wh.gone', data: '' },
            { name: 'etc/.wh.never-was', data: '' },
            { name: 'etc/new', data: '2' },
            { name: 'opaque/.wh..wh..opq', data: '' },
            { name: 'opaque/new', data: '2' },
            { name: '.wh.folder', data: '' },
            { name: 'becomes-file', data: '2' },
            { name: 'lib/b', data: '2' },
            { name: 'hard', type: '1', link: 'etc/stays' },
          ]),
        },
        {
          tar: testTar([
            { name: 'folder/again', data: '3' },
            { name: '.wh..wh.plnk', data: '' },
          ]),
        },
      ])
      await store.import(image.folder)
      const root = await merged('test.local/app:1')
      const tree = execFileSync('find', ['.', '-mindepth', '1', '-printf', '%P\n'], { cwd: root, encoding: 'utf8' })
      expect(tree.trim().split('\n').sort()).toEqual(
        [
          'becomes-file',
          'etc',
          'etc/new',
          'etc/stays',
          'folder',
          'folder/again',
          'hard',
          'lib',
          'opaque',
          'opaque/new',
          'usr',
          'usr/lib',
          'usr/lib/a',
          'usr/lib/b',
        ].sort(),
      )
      expect(readFileSync(path.join(root, 'hard'), 'utf8')).toBe('1')
      // The second layer has no entry for it: the first one's holds.
      expect(lstatSync(path.join(root, 'etc'))).toMatchObject({ uid: 7, gid: 8 })
      expect(lstatSync(path.join(root, 'etc')).mode & 0o7777).toBe(0o750)
    })

    test('without privileges layers are flat, and look the same', async () => {
      const forbidden = async () => {
        throw Object.assign(new Error('no'), { code: 'EPERM' })
      }
      store = await open({ files: { mknod: forbidden, setxattr: forbidden } })
      const image = build([
        {
          tar: testTar([
            { name: 'a/gone', data: '1' },
            { name: 'a/stays', data: '1' },
            { name: 'o/old', data: '1' },
          ]),
        },
        {
          tar: testTar([
            { name: 'a/.wh.gone', data: '' },
            { name: 'o/new', data: '2' },
            { name: 'o/.wh..wh..opq', data: '' },
          ]),
        },
      ])
      const [imported] = await store.import(image.folder)
      const { layers } = await store.content(imported!.id)
      expect(layers).toHaveLength(1)
      expect(readdirSync(path.join(layers[0]!, 'a'))).toEqual(['stays'])
      expect(readdirSync(path.join(layers[0]!, 'o'))).toEqual(['new'])
    })

    test.each([
      ['flat, as a user without rights', false, 1],
      ['with whiteouts, as the root of a user namespace', true, 2],
    ])('%s', async (_name, rootless, count) => {
      const image = build([
        {
          tar: testTar([
            { name: 'closed/', type: '5', mode: 0o555, uid: 0, gid: 0 },
            { name: 'closed/gone', data: 'x', uid: 33, gid: 33 },
            { name: 'dev/null', type: '3', major: 1, minor: 3 },
          ]),
        },
        {
          tar: testTar([
            { name: 'closed/second', data: 'y' },
            { name: 'closed/.wh.gone', data: '' },
          ]),
        },
      ])
      chmodSync(scratch, 0o755)
      const own = path.join(scratch, 'own')
      mkdirSync(own)
      chownSync(own, NOBODY, NOBODY)
      const roots = await importAsNobody(path.join(own, 'store'), image.folder, rootless)
      expect(roots).toHaveLength(count)
      const top = path.join(roots[0]!, 'closed')
      expect(lstatSync(top)).toMatchObject({ uid: NOBODY })
      expect(lstatSync(top).mode & 0o7777).toBe(0o555)
      expect(readdirSync(top)).toEqual(rootless ? ['gone', 'second'] : ['second'])
      if (rootless) expect(lstatSync(path.join(top, 'gone')).isCharacterDevice()).toBe(true)
    })

    test('capabilities, devices, pipes and owners', async () => {
      const source = path.join(scratch, 'special')
      mkdirSync(source)
      writeFileSync(path.join(source, 'program'), 'x', { mode: 0o755 })
      execFileSync('setfattr', [
        '-n',
        'security.capability',
        '-v',
        '0x0100000200200000000000000000000000000000',
        path.join(source, 'program'),
      ])
      execFileSync('setfattr', ['-n', 'user.note', '-v', 'hello', path.join(source, 'program')])
      execFileSync('mkfifo', [path.join(source, 'pipe')])
      execFileSync('mknod', [path.join(source, 'device'), 'c', '1', '300'])
      symlinkSync('program', path.join(source, 'link'))
      execFileSync('chown', ['-h', '70000:5', path.join(source, 'link'), path.join(source, 'program')])
      execFileSync('setfattr', [
        '-n',
        'security.capability',
        '-v',
        '0x0100000200200000000000000000000000000000',
        path.join(source, 'program'),
      ])
      const tar = execFileSync('tar', [
        '--format=pax',
        '--xattrs',
        '--xattrs-include=*',
        '--numeric-owner',
        '-C',
        source,
        '-cf',
        '-',
        '.',
      ])
      const [image] = await store.import(build([{ tar }]).folder)
      const root = (await store.content(image!.id)).layers[0]!
      const capabilities = execFileSync(
        'getfattr',
        ['-m', '-', '-d', '-e', 'hex', '--absolute-names', path.join(root, 'program')],
        { encoding: 'utf8' },
      )
      expect(capabilities).toContain('security.capability=0x0100000200200000')
      expect(capabilities).toContain('user.note')
      expect(lstatSync(path.join(root, 'pipe')).isFIFO()).toBe(true)
      expect(lstatSync(path.join(root, 'device')).rdev).toBe(lstatSync(path.join(source, 'device')).rdev)
      expect(lstatSync(path.join(root, 'link'))).toMatchObject({ uid: 70000, gid: 5 })
    })
  })

  describe('import', () => {
    test.each(['docker-archive', 'oci-archive'])('%s', async (form) => {
      const image = build([{ tar: testTar([{ name: 'a', data: '1' }]) }, { tar: testTar([{ name: 'b', data: '2' }]) }])
      const archive = path.join(scratch, 'archive.tar')
      await skopeo('copy', `oci:${image.folder}`, `${form}:${archive}:test.local/archived:2`)
      const [imported] = await store.import(archive)
      expect(imported?.repoTags).toEqual(['test.local/archived:2'])
      expect(readdirSync(await merged('test.local/archived:2')).sort()).toEqual(['a', 'b'])
      execFileSync('gzip', [archive])
      expect((await store.import(`${archive}.gz`))[0]?.id).toBe(imported?.id)
    })

    test("Node's own binary", async () => {
      const root = path.join(scratch, 'node-root')
      mkdirSync(path.join(root, 'bin'), { recursive: true })
      execFileSync('cp', [process.execPath, path.join(root, 'bin', 'node')])
      await store.import(build([{ folder: root, compression: 'none' }], 'test.local/node:1').folder)
      execFileSync('cmp', [process.execPath, path.join(await merged('test.local/node:1'), 'bin', 'node')])
    })

    test('nonsense', async () => {
      writeFileSync(path.join(scratch, 'nonsense'), 'x'.repeat(2000))
      await expect(store.import(path.join(scratch, 'nonsense'))).rejects.toThrow()
      await expect(store.import(scratch)).rejects.toThrow('neither a docker archive nor an OCI layout')
      await expect(store.import(path.join(scratch, 'missing'))).rejects.toThrow('there is no')
    })

    test('a layer that is not what the configuration says', async () => {
      const image = build([{ tar: testTar([{ name: 'a', data: '1' }]), compression: 'none' }])
      const blobs = path.join(image.folder, 'blobs', 'sha256')
      const other = testTar([{ name: 'evil', data: '1' }])
      for (const name of readdirSync(blobs))
        if (lstatSync(path.join(blobs, name)).size === other.length) writeFileSync(path.join(blobs, name), other)
      await expect(store.import(image.folder)).rejects.toThrow('another digest')
      expect(await store.list()).toEqual([])
      expect(layersLeft()).toEqual([])
    })
  })

  describe('one store, several processes', () => {
    test('another sees what one did; what is in use stays', async () => {
      const image = build([{ tar: testTar([{ name: 'a', data: '1' }]) }])
      let used: string[] = [image.id]
      const other = await open({ inUse: async () => used })
      await store.import(image.folder)
      expect((await other.status('test.local/app:1'))?.id).toBe(image.id)
      await other.remove('test.local/app:1')
      expect(await store.status('test.local/app:1')).toBeUndefined()
      expect(existsSync((await other.content(image.id)).layers[0]!)).toBe(true)
      used = []
      await other.collect()
      await expect(other.content(image.id)).rejects.toMatchObject({ code: 'NotFound' })
      expect(layersLeft()).toEqual([])
    })

    test('what a process without knowledge of containers removes, the other clears away', async () => {
      const image = build([{ tar: testTar([{ name: 'a', data: '1' }]) }])
      await store.import(image.folder)
      const dir = path.join(scratch, 'store')
      const other = await openImageStore({ dir, clock: systemClock, log: silentLogger, agent: agents.host })
      await other.remove('test.local/app:1')
      expect(layersLeft()).toHaveLength(1)
      expect(await store.list()).toEqual([])
      await expect.poll(layersLeft).toEqual([])
    })

    test('what a killed process left is cleared, and harms nobody', async () => {
      const work = path.join(scratch, 'store', 'work', '999999_x_1_1')
      mkdirSync(path.join(work, 'abc', 'fs'), { recursive: true })
      writeFileSync(path.join(scratch, 'store', 'lock'), JSON.stringify({ pid: 999999, startTime: 'x:1' }))
      store = await open()
      expect(existsSync(work)).toBe(false)
      await store.import(build([{ tar: testTar([{ name: 'a', data: '1' }]) }]).folder)
      expect(await store.list()).toHaveLength(1)
    })
  })
})
