/** A pod of the host's own programs. */
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { HOST_PATH_ANNOTATION } from '../../src/api/kinds/core/pod/host-paths.ts'
import { systemClock } from '../../src/base/clock.ts'
import { silentLogger } from '../../src/base/log.ts'
import { startBuiltinRuntime } from '../../src/container-runtime/builtin-runtime.ts'
import { mountReadableByAll } from '../../src/container-runtime/host-image/readable-by-all.ts'
import { HOST_IMAGE, hostImage } from '../../src/container-runtime/host-image.ts'
import { podScratch, type RuntimeUnderTest } from '../../src/container-runtime/pod-scratch.contract.ts'
import { openCgroups } from '../../src/linux/cgroups.ts'
import { linuxCalls } from '../../src/linux/ffi.ts'
import { MNT_DETACH } from '../../src/linux/mounts.ts'
import { type SyscallAgents, startSyscallAgents } from '../../src/linux/syscall-agent.ts'
import { asRoot } from '../linux/as-root.ts'
import { loopbackNetwork } from './builtin-under-test.ts'

asRoot('the host image', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'sampan-host-image-'))
  const app = path.join(folder, 'app')
  const cgroupRoot = `/sampan-host-image-${process.pid}`
  let agents: SyscallAgents
  let under: RuntimeUnderTest
  let allowHostPath = true
  beforeAll(async () => {
    mkdirSync(app)
    writeFileSync(path.join(app, 'server.js'), 'console.log(process.cwd(), process.getuid(), process.version)')
    agents = await startSyscallAgents()
    const mounting = { agents, treesFolder: path.join(folder, 'trees') }
    const images = hostImage({
      folder,
      mounting,
      get allowHostPath() {
        return allowHostPath
      },
    })
    const { id: imageId } = await images.pull(HOST_IMAGE)
    const runtime = await startBuiltinRuntime({
      stateDir: path.join(folder, 'state'),
      images,
      network: loopbackNetwork(),
      clock: systemClock,
      log: silentLogger,
      cgroupRoot,
    })
    under = { runtime, imageId, image: HOST_IMAGE, [Symbol.asyncDispose]: () => runtime[Symbol.asyncDispose]() }
  })
  afterAll(async () => {
    await under[Symbol.asyncDispose]()
    await agents[Symbol.asyncDispose]()
    await openCgroups({ root: cgroupRoot, everyHierarchy: true }).remove('')
    for (const point of mountsBelow(folder)) linuxCalls().umount(point, MNT_DETACH)
    rmSync(folder, { recursive: true, force: true })
  })
  const scratch = podScratch(() => under)
  const annotations = { [HOST_PATH_ANNOTATION]: app }

  test('runs a script of the developer with the node of the host', async () => {
    const security = { runAsUser: 1000, runAsGroup: 1000 }
    const { output } = await scratch().run(['node', 'server.js'], { security }, { annotations })
    expect(output).toBe(`/app 1000 ${process.version}\n`)
  })

  test('gives nothing of the host to write', async () => {
    const script = 'exec 2>&1; touch /usr/x; touch /app/x; touch /tmp/x && echo tmp'
    const { output } = await scratch().run(['sh', '-c', script], {}, { annotations })
    expect(output.match(/Read-only file system/g)).toHaveLength(2)
    expect(output).toMatch(/tmp\n$/)
  })

  test('shows root of a container no file of the host that is not for everyone', async () => {
    const find = 'find /usr /etc ! -type l ! -perm -o=r -readable -print 2>/dev/null; true'
    const readable = await scratch().run(['sh', '-c', find])
    expect(readable.output).toBe('')
    const names = [
      '/etc/ssl/private',
      '/etc/ssh',
      '/etc/shadow',
      '/etc/kubernetes',
      '/var/lib',
      '/srv',
      '/opt',
      '/boot',
    ]
    const { output } = await scratch().run([
      'sh',
      '-c',
      `ls -d ${names.join(' ')} 2>/dev/null; ls -A /root /home; true`,
    ])
    expect(output).toBe('/home:\n\n/root:\n')
  })

  test('an ID-mapped tree keeps root from what other users cannot read', async () => {
    const tree = path.join(folder, 'tree')
    mkdirSync(path.join(tree, 'closed'), { recursive: true })
    writeFileSync(path.join(tree, 'public'), 'public\n')
    writeFileSync(path.join(tree, 'root-only'), 'secret\n')
    writeFileSync(path.join(tree, 'group-only'), 'secret\n')
    writeFileSync(path.join(tree, 'closed', 'file'), 'secret\n')
    chmodSync(path.join(tree, 'root-only'), 0o600)
    chmodSync(path.join(tree, 'group-only'), 0o640)
    chmodSync(path.join(tree, 'closed'), 0o700)
    const places = await mountReadableByAll(agents, [tree], path.join(folder, 'own-trees'))
    const mount = {
      containerPath: '/tree',
      hostPath: places.get(tree)!,
      readonly: true,
      propagation: 'PRIVATE',
    } as const
    const script = 'cat /tree/public; cat /tree/root-only /tree/group-only /tree/closed/file; ls /tree/closed; id -u'
    const { output } = await scratch().run(['sh', '-c', `exec 2>&1; ${script}`], { mounts: [mount] })
    expect(output).toMatch(/^public\n/)
    expect(output).not.toContain('secret')
    expect(output.match(/Permission denied/g)).toHaveLength(4)
    expect(output).toMatch(/\n0\n$/)
  })

  test('a folder that is not there is an error', async () => {
    const start = scratch().start(['true'], {}, { annotations: { [HOST_PATH_ANNOTATION]: '/no/such/app' } })
    await expect(start).rejects.toThrow('/no/such/app')
  })

  test('a node that does not allow host paths refuses the annotation', async () => {
    allowHostPath = false
    const start = scratch().start(['true'], {}, { annotations })
    await expect(start).rejects.toThrow(
      'annotation sampan.dev/host-path: this node does not allow it; start the node with --allow-host-path',
    )
    allowHostPath = true
  })
})

const mountsBelow = (folder: string) =>
  readFileSync('/proc/self/mountinfo', 'utf8')
    .split('\n')
    .flatMap((line) => line.split(' ')[4] ?? [])
    .filter((point) => point.startsWith(`${folder}/`))
    .sort((a, b) => b.length - a.length)
