/** What a hostile image, pod or container tries while a container starts or a command enters it. */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { ContainerChanges } from '../../src/container-runtime/pod-configs.contract.ts'
import { podScratch, type RuntimeUnderTest } from '../../src/container-runtime/pod-scratch.contract.ts'
import { openCgroups, STANDARD_DEVICES } from '../../src/linux/cgroups.ts'
import { startSyscallAgents } from '../../src/linux/syscall-agent.ts'
import { type BuiltinMachine, builtinMachine } from '../container-runtime/builtin-under-test.ts'
import { BUSYBOX_IMAGE, makeBusyboxRoot } from '../container-runtime/busybox-image.ts'
import { asRoot } from '../linux/as-root.ts'

const sh = (script: string) => ['sh', '-c', script]
const DESCRIPTORS = Array.from({ length: 48 }, (_, i) => i)
const UP = '../'.repeat(12)
const SHARED_PROCESSES = { network: 'POD', pid: 'POD', ipc: 'POD' } as const
const UNCONFINED = { type: 'Unconfined' } as const
const NOT_FOUND = /no such file|not a directory|permission denied|ENOTDIR|ENOENT|ELOOP/

asRoot('the start of a container', () => {
  const host = mkdtempSync(path.join(tmpdir(), 'sampan-host-'))
  const program = path.join(host, 'program')
  const through = (fd: number, file: string) => `/proc/self/fd/${fd}/${UP}${file.slice(1)}`
  let machine: BuiltinMachine
  let under: RuntimeUnderTest

  /** Layers above busybox. */
  const IMAGES: Readonly<Record<string, (root: string) => void>> = {
    tricks: (root) => {
      for (const fd of DESCRIPTORS) {
        writeFileSync(path.join(root, `script-${fd}`), `#!${through(fd, program)}\n`, { mode: 0o755 })
        symlinkSync(through(fd, host), path.join(root, `link-${fd}`))
      }
    },
    'users-of-a-volume': () => {},
    ...Object.fromEntries(
      DESCRIPTORS.map((fd) => [
        `passwd-${fd}`,
        (root: string) => {
          mkdirSync(path.join(root, 'etc'))
          symlinkSync(through(fd, path.join(host, 'passwd')), path.join(root, 'etc', 'passwd'))
        },
      ]),
    ),
  }

  beforeAll(async () => {
    writeFileSync(program, '#!/bin/sh\necho reached\n', { mode: 0o755 })
    writeFileSync(path.join(host, 'secret'), 'the secret of the host\n')
    writeFileSync(path.join(host, 'passwd'), 'hostuser:x:4242:4242::/:/bin/sh\n')
    machine = builtinMachine((folder) => {
      const base = path.join(folder, 'base')
      mkdirSync(base)
      makeBusyboxRoot(base)
      const layers = Object.entries(IMAGES).map(([name, fill]) => {
        const root = path.join(folder, name)
        mkdirSync(root)
        fill(root)
        return [name, [root, base]]
      })
      return Object.fromEntries(layers)
    })
    const runtime = await machine.start()
    const dispose = () => runtime[Symbol.asyncDispose]()
    under = { runtime, imageId: BUSYBOX_IMAGE, image: BUSYBOX_IMAGE, [Symbol.asyncDispose]: dispose }
  })
  afterAll(async () => {
    await under[Symbol.asyncDispose]()
    await machine[Symbol.asyncDispose]()
    rmSync(host, { recursive: true, force: true })
  })
  const scratch = podScratch(() => under)
  const volume = (hostPath: string, containerPath: string) => ({
    hostPath,
    containerPath,
    readonly: false,
    propagation: 'PRIVATE' as const,
  })

  describe('descriptors of the runtime', () => {
    /** Every way to name a file of the host that goes through a descriptor. */
    const WAYS: readonly [string, (fd: number) => readonly [readonly string[], ContainerChanges]][] = [
      ['the program', (fd) => [[through(fd, program)], {}]],
      ['the program of a terminal', (fd) => [[through(fd, program)], { tty: true }]],
      ['the interpreter of a script', (fd) => [[`/script-${fd}`], { imageId: 'tricks' }]],
      ['the working folder', (fd) => [['pwd'], { workingDir: through(fd, host) }]],
      ['a place for a volume', (fd) => [['true'], { imageId: 'tricks', mounts: [volume(host, `/link-${fd}/place`)] }]],
    ]

    test.each(WAYS)('%s cannot be a file of the host', async (_, attempt) => {
      const { start } = scratch()
      for (const fd of DESCRIPTORS) {
        const [command, changes] = attempt(fd)
        await expect(start(command, changes), `descriptor ${fd}`).rejects.toThrow(NOT_FOUND)
      }
    })

    test('users cannot come from a file of the host', async () => {
      const { start } = scratch()
      for (const fd of DESCRIPTORS) {
        const started = start(['true'], { imageId: `passwd-${fd}`, security: { runAsUsername: 'hostuser' } })
        await expect(started, `descriptor ${fd}`).rejects.toThrow('unable to find user hostuser')
      }
    })

    test.each([
      ['a process namespace of its own', {}],
      ['a shared process namespace', { namespaces: SHARED_PROCESSES }],
    ])('a command in a container with %s cannot be a file of the host', async (_, sandbox) => {
      const { start, exec } = scratch()
      const id = await start(['sleep', '1000'], { imageId: 'tricks' }, sandbox)
      for (const fd of DESCRIPTORS)
        for (const command of [through(fd, program), `/script-${fd}`])
          for (const tty of [false, true])
            await expect(exec(id, [command], { tty }), `descriptor ${fd}`).rejects.toThrow(NOT_FOUND)
    })

    test.each([
      ['a process namespace of its own', {}],
      ['a shared process namespace', { namespaces: SHARED_PROCESSES }],
    ])('a program in %s has its standard streams and nothing else', async (_, sandbox) => {
      const { start, exec, output } = scratch()
      const list = sh('ls /proc/self/fd; sleep 1000')
      const id = await start(list, {}, sandbox)
      // The last one is that of ls itself.
      await expect.poll(() => output(id)).toBe('0\n1\n2\n3\n')
      expect((await exec(id, sh('ls /proc/self/fd'))).stdout).toBe('0\n1\n2\n3\n')
    })
  })

  describe('images and volumes', () => {
    test('users come from the image, not from a volume of the pod that started first', async () => {
      const { run } = scratch()
      const passwd = path.join(host, 'everyone-is-root')
      writeFileSync(passwd, 'nobody:x:0:0::/:/bin/sh\n')
      const changes = { imageId: 'users-of-a-volume', security: { runAsUsername: 'nobody' } }
      const first = await run(['id', '-u'], { ...changes, mounts: [volume(passwd, '/etc/passwd')] })
      const second = await run(['id', '-u'], changes)
      expect([first.output, second.output]).toEqual(['65534\n', '65534\n'])
    })

    test('a volume in place of /sys cannot lead the cgroups elsewhere', async () => {
      const sys = path.join(host, 'sys')
      mkdirSync(path.join(sys, 'fs'), { recursive: true })
      symlinkSync('/bin', path.join(sys, 'fs', 'cgroup'))
      const { output } = await scratch().run(sh('ls /bin/busybox'), { mounts: [volume(sys, '/sys')] })
      expect(output).toBe('/bin/busybox\n')
    })

    test('a volume in place of /dev cannot be the standard input', async () => {
      const dev = path.join(host, 'dev')
      mkdirSync(dev)
      writeFileSync(path.join(dev, 'null'), 'not null\n')
      const { output } = await scratch().run(sh('cat; echo end'), { mounts: [volume(dev, '/dev')] })
      expect(output).toBe('end\n')
    })

    test('folders of other places cannot be hidden or protected', async () => {
      const started = scratch().start(['true'], { security: { maskedPaths: ['/proc/../etc'] } })
      await expect(started).rejects.toThrow('"/proc/../etc": it is not a path below /proc or /sys')
    })
  })

  describe('other containers that watch', () => {
    const tracer = { security: { addCapabilities: ['SYS_PTRACE'], seccomp: UNCONFINED } }

    test('the first process of a shared namespace has an empty root and no rights', async () => {
      const script = `ls -a /proc/1/root/; cat /proc/1/root${host}/secret 2>/dev/null; ls /proc/1/fd | wc -l
        grep -E 'Cap(Prm|Eff|Bnd)|Seccomp:|Uid' /proc/1/status | tr -s '\\t ' ' '
        for n in net ipc uts; do [ $(readlink /proc/1/ns/$n) = $(readlink /proc/self/ns/$n) ] && echo $n; done
        [ $(readlink /proc/1/ns/mnt) = $(readlink /proc/self/ns/mnt) ] || echo mnt`
      const { output } = await scratch().run(sh(script), tracer, { namespaces: SHARED_PROCESSES })
      const nothing = '0000000000000000'
      expect(output.split('\n').slice(0, -1)).toEqual([
        '.',
        '..',
        '5',
        'Uid: 65535 65535 65535 65535',
        ...['Prm', 'Eff', 'Bnd'].map((name) => `Cap${name}: ${nothing}`),
        'Seccomp: 2',
        ...['net', 'ipc', 'uts', 'mnt'],
      ])
    })

    test('see no process of the runtime while containers start beside them', async () => {
      const { runtime, sandbox, container, output } = scratch()
      const { id: sandboxId, config } = await sandbox({ namespaces: SHARED_PROCESSES })
      const watch = `echo ready; while :; do for p in /proc/[0-9]*; do cat $p/root${host}/secret; done; done 2>/dev/null`
      const start = async (name: string, command: readonly string[], changes: ContainerChanges = {}) => {
        const made = container(command, { ...changes, name, logPath: `${name}/0.log` })
        const security = { ...made.security, namespaces: config.namespaces }
        const id = await runtime.createContainer(sandboxId, { ...made, security }, config)
        await runtime.startContainer(id)
        return id
      }
      const watcher = await start('watcher', sh(watch), tracer)
      await expect.poll(() => output(watcher)).toContain('ready')
      for (let i = 0; i < 20; i++) await start(`other-${i}`, ['true'])
      expect(await output(watcher)).toBe('ready\n')
    })

    test('see no command with more rights than the container has', async () => {
      const { start, exec, output } = scratch()
      const watch = `echo ready; while :; do grep -h CapPrm /proc/[0-9]*/status | grep -v 00000000a80425fb; done`
      const id = await start(sh(`${watch} 2>/dev/null`))
      await expect.poll(() => output(id)).toContain('ready')
      for (let i = 0; i < 20; i++) await exec(id, ['true'])
      expect(await output(id)).toBe('ready\n')
    })
  })

  describe('rights over the machine', () => {
    const admin = { addCapabilities: ['SYS_ADMIN', 'SYSLOG'], seccomp: UNCONFINED }
    /** The kernel's log: a device that every machine has and no container may use. */
    const script = `mkdir /m && mount -t tmpfs t /m && mknod /m/kmsg c 1 11 && mknod /m/null c 1 3 && echo x > /m/null &&
      echo made; (exec 3< /m/kmsg) 2>&1 && echo opened`

    test('a device that the container makes where devices work cannot be used', async () => {
      const { output } = await scratch().run(sh(script), { security: admin })
      expect(output).toMatch(/^made\n.*(not permitted|ermission denied)/)
      expect(output).not.toContain('opened')
    })

    test('a command in the container cannot use it either', async () => {
      const { start, exec } = scratch()
      const id = await start(['sleep', '1000'], { security: admin })
      expect((await exec(id, sh(script))).stdout).toMatch(/^made\n.*(not permitted|ermission denied)/)
    })

    test('a privileged container may use every device', async () => {
      const { output } = await scratch().run(sh(script), { security: { privileged: true } })
      expect(output).toBe('made\nopened\n')
    })

    test('a device that the pod was given can be used', async () => {
      const devices = [{ hostPath: '/dev/kmsg', containerPath: '/dev/kmsg', permissions: 'r' }]
      const { output } = await scratch().run(sh('(exec 3< /dev/kmsg) && echo opened; (exec 3> /dev/kmsg) 2>&1'), {
        devices,
        security: admin,
      })
      expect(output).toMatch(/^opened\n.*(not permitted|ermission denied)/)
    })

    const unified = ['/sys/fs/cgroup', '/sys/fs/cgroup/unified'].find((folder) =>
      existsSync(`${folder}/cgroup.controllers`),
    )
    test.skipIf(!unified)('cgroup v2 denies what no rule allows', async () => {
      const cgroups = openCgroups({ mountpoint: unified!, root: `/sampan-devices-${process.pid}` })
      await using agents = await startSyscallAgents()
      await cgroups.create('/a', {})
      const rules = [...STANDARD_DEVICES, { type: 'c', major: 1, minor: 11, access: 'r' } as const]
      expect(await cgroups.allowDevices('/a', rules, agents.host)).toBe(true)
      const uses = ['< /dev/null', '> /dev/null', '<> /dev/ptmx', '< /dev/kmsg', '> /dev/kmsg', '<> /dev/kmsg']
      const tries = uses.map((use) => `(exec 3${use}) 2>/dev/null && echo yes || echo no`)
      const group = `${unified}/sampan-devices-${process.pid}/a/cgroup.procs`
      const make = `mknod ${host}/mem c 1 1 && echo made`
      const script = `(${tries.join(';')}); echo $$ > ${group}; ${tries.join(';')}; ${make}`
      const answers = execFileSync('sh', ['-c', script], { encoding: 'utf8' }).trim().split('\n')
      await expect.poll(() => cgroups.remove('')).toBe(true)
      expect(answers).toEqual([...uses.map(() => 'yes'), 'yes', 'yes', 'yes', 'yes', 'no', 'no', 'made'])
    })

    test.skipIf(openCgroups().version === 'v2')('no hierarchy of cgroups shows its root', async () => {
      const names = readdirSync('/sys/fs/cgroup').flatMap((name) => (name === 'systemd' ? 'none,name=systemd' : name))
      const scan = names
        .filter((name) => name !== 'unified')
        .map(
          (name) =>
            `mount -t cgroup -o ${name} cgroup /m && echo ${name} ; [ -e /m/release_agent ] && echo release_agent; umount /m`,
        )
      const { output } = await scratch().run(sh(`mkdir /m; ${scan.join(';')}`), { security: admin })
      expect(output).toContain('freezer\n')
      expect(output).not.toContain('release_agent')
    })
  })
})
