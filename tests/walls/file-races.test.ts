/** Containers that change files while the node works on them. A folder outside must stay as it is. */
import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { openLog, openLogFolder } from '../../src/kubelet/logs/log-files.ts'
import { setGroup } from '../../src/kubelet/volumes/ownership.ts'
import { openSubPath, readVolumeFile } from '../../src/kubelet/volumes/sub-path.ts'
import { removeTree } from '../../src/linux/remove-tree.ts'
import { containerdNode } from '../container-runtime/containerd-under-test.ts'
import { builtinNode, IMAGE, type isReady, type NodeMachine, realNode, sh } from '../kubelet/kubelet-under-test.ts'
import { asRoot, asRootEach } from '../linux/as-root.ts'
import { manyTimes, whileExchanged } from './exchange.ts'

const GROUP = 4321

let scratch: string
let canary: string
let volume: string
beforeEach(() => {
  scratch = mkdtempSync(path.join(tmpdir(), 'file-races-'))
  canary = path.join(scratch, 'canary')
  volume = path.join(scratch, 'volume')
  mkdirSync(path.join(canary, 'inner'), { recursive: true })
  writeFileSync(path.join(canary, 'inner', 'secret'), 'secret', { mode: 0o600 })
  chmodSync(canary, 0o711)
  mkdirSync(volume)
})
afterEach(() => rmSync(scratch, { recursive: true, force: true }))

function stateOfCanary() {
  const names = ['.', ...readdirSync(canary, { recursive: true, encoding: 'utf8' })].sort()
  return names.map((name) => {
    const { mode, uid, gid, ino, mtimeMs } = lstatSync(path.join(canary, name))
    return { name, mode, uid, gid, ino, mtimeMs }
  })
}

/** `a` and `b` of a folder: a folder with files, and a link to the canary. */
function makePair(folder: string): [string, string] {
  const [a, b] = [path.join(folder, 'a'), path.join(folder, 'b')]
  mkdirSync(path.join(a, 'inner'), { recursive: true })
  for (const name of ['inner/secret', 'file']) writeFileSync(path.join(a, name), 'own')
  symlinkSync(canary, b)
  return [a, b]
}

asRoot('while a folder is exchanged for a link', () => {
  test('folders of a subPath are made in the volume only', async () => {
    const before = stateOfCanary()
    let opened = 0
    const exchanged = await whileExchanged(...makePair(volume), () =>
      manyTimes(20_000, async (i) => {
        try {
          using part = await openSubPath(volume, `a/inner/new-${i % 100}/${i}`)
          expect(readlinkSync(part.path).startsWith(`${volume}/`)).toBe(true)
          opened++
        } catch (error) {
          expect((error as Error).message).toMatch(/not within volume path|ENOENT|ELOOP|ENOTDIR/)
        }
      }),
    )
    expect(stateOfCanary()).toEqual(before)
    expect(exchanged).toBeGreaterThan(10_000)
    expect(opened).toBeGreaterThan(1000)
  })

  test('a file of a volume is read from the volume only', async () => {
    const seen = new Set<string | undefined>()
    await whileExchanged(...makePair(volume), () =>
      manyTimes(20_000, async () => {
        seen.add(await readVolumeFile(volume, 'a/inner/secret', 1000).catch(() => 'refused'))
      }),
    )
    expect([...seen].sort()).toEqual(['own', 'refused'])
  })

  test('fsGroup is given to files of the volume only', async () => {
    const before = stateOfCanary()
    const [a, b] = makePair(volume)
    for (let i = 0; i < 20; i++) writeFileSync(path.join(a, 'inner', String(i)), '')
    await whileExchanged(a, b, () =>
      manyTimes(2000, async (i) => {
        await setGroup(volume, GROUP + (i % 2), i % 3 === 0)
      }),
    )
    expect(stateOfCanary()).toEqual(before)
    expect(lstatSync(volume).gid).not.toBe(0)
  })

  test('fsGroup is given to a file, and not to what a link in its place leads to', async () => {
    const before = stateOfCanary()
    const [file, link] = [path.join(volume, 'file'), path.join(volume, 'link')]
    writeFileSync(file, '')
    symlinkSync(path.join(canary, 'inner', 'secret'), link)
    await whileExchanged(file, link, () => manyTimes(10_000, (i) => setGroup(volume, GROUP + (i % 2), false)))
    expect(stateOfCanary()).toEqual(before)
  })

  test('a removal removes what is in the tree only', async () => {
    const before = stateOfCanary()
    const pair = [path.join(volume, 'a'), path.join(volume, 'b')] as const
    const exchanged = await whileExchanged(...pair, async () => {
      for (let i = 0; i < 2500; i++) {
        makePair(volume)
        await removeTree(volume)
        mkdirSync(volume)
      }
    })
    expect(stateOfCanary()).toEqual(before)
    expect(exchanged).toBeGreaterThan(1000)
  })

  test('logs are read from the folder of the logs only', async () => {
    const pod = path.join(volume, 'default_pod_uid')
    const file = path.join(pod, 'a', 'inner', 'secret')
    const seen = new Set<string>()
    await whileExchanged(...makePair(pod), () =>
      manyTimes(20_000, async () => {
        try {
          using folder = await openLogFolder({ podLogsDir: volume, file })
          expect(readlinkSync(folder.path).startsWith(`${volume}/`)).toBe(true)
          const log = await openLog({ podLogsDir: volume, file })
          seen.add((await log?.readFile('utf8')) ?? 'none')
          await log?.close()
        } catch (error) {
          expect((error as Error).message).toMatch(/ELOOP|ENOENT|ENOTDIR/)
        }
      }),
    )
    expect(seen.has('own')).toBe(true)
    expect(seen.has('secret')).toBe(false)
  })
})

asRoot('what is mounted in a folder', () => {
  test.each([
    ['another file system', ['-t', 'tmpfs', 'tmpfs']],
    ['a folder of the same file system', ['--bind', 'CANARY']],
    ['a file', ['--bind', 'CANARY/inner/secret']],
  ])('is not removed with it: %s', async (what, args) => {
    const place = path.join(volume, 'a', 'b', 'mounted')
    mkdirSync(path.dirname(place), { recursive: true })
    if (what === 'a file') writeFileSync(place, '')
    else mkdirSync(place)
    execFileSync('mount', [...args.map((arg) => arg.replace('CANARY', canary)), place])
    try {
      if (what.startsWith('another')) writeFileSync(path.join(place, 'kept'), '')
      await expect(removeTree(volume)).rejects.toThrow(
        `${volume} was not removed: something is still mounted beneath it`,
      )
      if (what.startsWith('another')) expect(existsSync(path.join(place, 'kept'))).toBe(true)
      expect(readFileSync(path.join(canary, 'inner', 'secret'), 'utf8')).toBe('secret')
    } finally {
      execFileSync('umount', [place])
    }
    await removeTree(volume)
    expect(existsSync(volume)).toBe(false)
  })
})

const MACHINES: [string, () => NodeMachine][] = [
  ['builtin', builtinNode],
  ['containerd', containerdNode],
]

asRootEach(MACHINES, 'a pod that exchanges the folders of its subPaths on', (_, machine) => {
  describe('its own volume', () => {
    test('gets no folder of the node', async () => {
      const before = stateOfCanary()
      await using node = await realNode({}, machine())
      const script = `while true; do rm -rf /v/a; ln -s ${canary} /v/a; rm /v/a; mkdir /v/a; done`
      const parts = Array.from({ length: 12 }, (_each, i) => ({
        name: `part-${i}`,
        image: IMAGE,
        command: ['sh', '-c', 'touch /part/made 2>/dev/null; sleep 1000'],
        volumeMounts: [{ name: 'v', mountPath: '/part', subPath: `a/part-${i}/inner` }],
      }))
      await node.run('sidecar', {
        volumes: [{ name: 'v', emptyDir: {} }],
        containers: [{ ...sh(script), volumeMounts: [{ name: 'v', mountPath: '/v' }] }, ...parts],
      })
      const tried = (name: string) => (pod: Parameters<typeof isReady>[0]) =>
        pod.status?.containerStatuses?.some(
          (one) => one.name === name && (one.state?.running || one.state?.waiting?.message),
        ) === true
      for (const { name } of parts) await node.untilPod('sidecar', tried(name))
      await node.pods().delete('sidecar')
      await node.untilGone('sidecar')
      expect(stateOfCanary()).toEqual(before)
      expect(readdirSync(path.join(node.rootDir, 'pods'))).toEqual([])
    })
  })
})
