/** Images that try to reach the host, and what is left after everything was removed. */
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { podScratch, type RuntimeUnderTest } from '../../src/container-runtime/pod-scratch.contract.ts'
import { asRoot } from '../linux/as-root.ts'
import { type BuiltinMachine, builtinMachine } from './builtin-under-test.ts'
import { BUSYBOX_IMAGE, makeBusyboxRoot } from './busybox-image.ts'

const sh = (script: string) => ['sh', '-c', script]

asRoot('hostile images', () => {
  const goal = mkdtempSync(path.join(tmpdir(), 'sampan-goal-'))
  let machine: BuiltinMachine
  let under: RuntimeUnderTest

  /** Layers on top of busybox, each with one trick. */
  const TRICKS: Readonly<Record<string, (root: string) => void>> = {
    'links-to-host': (root) => {
      symlinkSync(goal, path.join(root, 'data'))
      mkdirSync(path.join(root, 'var'), { recursive: true })
      symlinkSync('../../../../../../..', path.join(root, 'var', 'up'))
      symlinkSync('loop-b', path.join(root, 'loop-a'))
      symlinkSync('loop-a', path.join(root, 'loop-b'))
    },
    'proc-is-a-link': (root) => symlinkSync('/etc', path.join(root, 'proc')),
    'dev-is-a-link': (root) => symlinkSync('/etc', path.join(root, 'dev')),
    'passwd-is-a-link': (root) => {
      mkdirSync(path.join(root, 'etc'), { recursive: true })
      symlinkSync(path.join(goal, 'passwd'), path.join(root, 'etc', 'passwd'))
    },
    'runs-us': (root) => writeFileSync(path.join(root, 'evil'), '#!/proc/self/exe\n', { mode: 0o755 }),
  }

  beforeAll(async () => {
    writeFileSync(path.join(goal, 'passwd'), 'hostuser:x:4242:4242::/:/bin/sh\n')
    machine = builtinMachine((folder) =>
      Object.fromEntries(
        Object.entries(TRICKS).map(([name, trick]) => {
          const root = path.join(folder, name)
          mkdirSync(root)
          trick(root)
          const base = path.join(folder, `${name}-base`)
          mkdirSync(base)
          makeBusyboxRoot(base)
          return [name, [root, base]]
        }),
      ),
    )
    const runtime = await machine.start()
    const dispose = () => runtime[Symbol.asyncDispose]()
    under = { runtime, imageId: BUSYBOX_IMAGE, image: BUSYBOX_IMAGE, [Symbol.asyncDispose]: dispose }
  })
  afterAll(async () => {
    await under[Symbol.asyncDispose]()
    await machine[Symbol.asyncDispose]()
    rmSync(goal, { recursive: true, force: true })
  })
  const scratch = podScratch(() => under)
  const volume = (hostPath: string, containerPath: string) => ({
    hostPath,
    containerPath,
    readonly: false,
    propagation: 'PRIVATE' as const,
  })

  test.each(['/data/sub', '/var/up/data/sub', '/var/up/var/up/data/sub'])(
    'a volume at %s stays inside',
    async (place) => {
      const mounts = [volume(machine.root, place)]
      const { status, output } = await scratch().run(sh(`ls ${place}; ls ${goal}/sub`), {
        imageId: 'links-to-host',
        mounts,
      })
      expect(status.exitCode).toBe(0)
      expect(output).toContain('bin\n')
      expect(readdirSync(goal)).toEqual(['passwd'])
    },
  )

  test('a loop of links is an error', async () => {
    const mounts = [volume(machine.root, '/loop-a/x')]
    await expect(scratch().start(['true'], { imageId: 'links-to-host', mounts })).rejects.toThrow('ELOOP')
  })

  test('a working folder through a link is made inside', async () => {
    const { output } = await scratch().run(['pwd'], { imageId: 'links-to-host', workingDir: '/data/work' })
    expect(output).toBe(`${goal}/work\n`)
    expect(existsSync(path.join(goal, 'work'))).toBe(false)
  })

  test.each(['proc-is-a-link', 'dev-is-a-link'])('an image where %s is refused', async (imageId) => {
    await expect(scratch().start(['true'], { imageId })).rejects.toThrow(/mount point \/(proc|dev): ELOOP/)
  })

  test('users come from the image, not from where its links lead', async () => {
    const start = scratch().start(['true'], { imageId: 'passwd-is-a-link', security: { runAsUsername: 'hostuser' } })
    await expect(start).rejects.toThrow('unable to find user hostuser')
  })

  test('a program that names itself cannot change ours', async () => {
    const { runtime, start, exec } = scratch()
    const id = await start(sh('/evil; readlink /proc/self/exe; sleep 1000'), { imageId: 'runs-us' })
    const attempt = await exec(id, ['/evil']).catch((error: Error) => ({ stdout: error.message, code: 1 }))
    expect(attempt.code).not.toBe(0)
    const written = await exec(id, sh('for p in /proc/[0-9]*; do echo x > $p/exe; done; true'))
    expect(written.code).toBe(0)
    expect((await exec(id, ['true'])).code).toBe(0)
    await runtime.removeContainer(id)
  })

  describe('afterwards', () => {
    test('nothing is left of many pods, whatever became of them', async () => {
      const { runtime, run, start } = scratch()
      await Promise.all([
        run(sh('exit 3')),
        run(sh('sleep 100 & exit 0')),
        start(['sleep', '1000'], { tty: true, stdin: true }),
        start(['cat'], { stdin: true, stdinOnce: true }),
        start(['no-such-program']).catch(() => {}),
        start(['sleep', '1000'], {}, { namespaces: { network: 'POD', pid: 'POD', ipc: 'POD' } }),
        start(['sleep', '1000'], {}, { namespaces: { network: 'NODE', pid: 'NODE', ipc: 'NODE' } }),
      ])
      for (const { id } of await runtime.listPodSandbox()) await runtime.removePodSandbox(id)
      expect(await runtime.listContainers()).toEqual([])
      await expect.poll(() => machine.leftovers()).toEqual([])
    })
  })
})
