import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import type { Mount } from './container-config.ts'
import { collect, type PodScratch } from './pod-scratch.contract.ts'
import type { RuntimeAbilities } from './runtime.contract.ts'

const sh = (script: string) => ['sh', '-c', script]
const mount = (hostPath: string, containerPath: string, more: Partial<Mount> = {}): Mount => ({
  hostPath,
  containerPath,
  readonly: false,
  propagation: 'PRIVATE',
  ...more,
})

/** Undefined if it has ended. */
function ownerOf(pid: string): number | undefined {
  try {
    return Number(/^Uid:\t(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1])
  } catch {
    return undefined
  }
}

export function isolationContract(scratch: () => PodScratch, abilities: RuntimeAbilities): void {
  const folders: string[] = []
  const folder = () => {
    const made = mkdtempSync(path.join(tmpdir(), 'sampan-volume-'))
    folders.push(made)
    return made
  }
  afterEach(() => {
    for (const made of folders.splice(0)) rmSync(made, { recursive: true, force: true })
  })

  describe('file systems', () => {
    test('a container sees only its own', async () => {
      const { output } = await scratch().run(sh('ls -a /; echo x > /new && cat /new; ls /proc/1/root/new'))
      expect(output).toContain('x\n/proc/1/root/new\n')
      expect(output).not.toContain('work\n')
    })

    test('two containers of one image share nothing', async () => {
      const { start, run } = scratch()
      await start(sh('echo mine > /secret; sleep 1000'))
      expect((await run(sh('cat /secret'))).status.exitCode).toBe(1)
    })

    test('a read-only root refuses, its volumes do not', async () => {
      const volume = folder()
      const changes = { security: { readonlyRootfs: true }, mounts: [mount(volume, '/data')] }
      const { output } = await scratch().run(
        sh('exec 2>&1; echo a > /a; echo b > /data/b; echo c > /dev/shm/c; cat /dev/shm/c'),
        changes,
      )
      expect(output).toMatch(/Read-only file system\nc\n$/)
      expect(readFileSync(path.join(volume, 'b'), 'utf8')).toBe('b\n')
    })

    test('volumes: folders and files, read-only, inside each other', async () => {
      const outer = folder()
      const inner = folder()
      const file = path.join(folder(), 'hosts')
      writeFileSync(file, '127.0.0.1 localhost\n')
      writeFileSync(path.join(inner, 'hello'), 'hello\n')
      const mounts = [
        mount(inner, '/data/deep/inner', { readonly: true }),
        mount(outer, '/data'),
        mount(file, '/etc/hosts', { readonly: true }),
      ]
      const script = 'exec 2>&1; cat /etc/hosts /data/deep/inner/hello; echo x > /data/x; echo y > /data/deep/inner/y'
      const { output } = await scratch().run(sh(script), { mounts })
      expect(output).toContain('127.0.0.1 localhost\nhello\n')
      expect(output).toContain('Read-only file system')
      expect(readFileSync(path.join(outer, 'x'), 'utf8')).toBe('x\n')
    })

    test('a volume that is not there becomes a folder', async () => {
      const missing = path.join(folder(), 'missing', 'below')
      await scratch().run(sh('echo x > /data/x'), { mounts: [mount(missing, '/data')] })
      expect(readFileSync(path.join(missing, 'x'), 'utf8')).toBe('x\n')
    })

    test.skipIf(!abilities.imageVolumes)('an image may be a volume, to be read alone', async () => {
      const { runtime, run, container } = scratch()
      const { imageId } = container([])
      const image = (containerPath: string, subPath?: string): Mount => ({
        ...mount('', containerPath, { readonly: true }),
        image: { id: imageId, ...(subPath && { subPath }) },
      })
      const script = `exec 2>&1; ls -d /image/bin /part/busybox; touch /image/x; /part/busybox true; echo $?`
      const { id, output } = await run(sh(script), { mounts: [image('/image'), image('/part', 'bin')] })
      expect(output).toMatch(/^\/image\/bin\n\/part\/busybox\n.*Read-only file system\n.*ermission denied\n126\n$/)
      const [listed] = await runtime.listContainers({ id })
      expect(listed!.imageVolumes).toEqual([imageId])
      for (const nowhere of ['none', 'bin/busybox'])
        await expect(run(['true'], { mounts: [image('/image', nowhere)] })).rejects.toThrow(`no folder "${nowhere}"`)
    })

    test('a volume may not cover a part of /proc', async () => {
      const start = scratch().start(['true'], { mounts: [mount(folder(), '/proc/sys')] })
      await expect(start).rejects.toThrow(/(part of|inside) \/proc/)
    })

    test('a link in one volume cannot lead another to /proc', async () => {
      const evil = folder()
      const { symlinkSync } = await import('node:fs')
      symlinkSync('/proc', path.join(evil, 'link'))
      const mounts = [mount(evil, '/evil'), mount(folder(), '/evil/link')]
      await expect(scratch().start(['true'], { mounts })).rejects.toThrow(/(part of|inside) \/proc|not of type proc/)
    })

    test('a link of a volume leads only inside the container', async () => {
      const evil = folder()
      const goal = folder()
      const { symlinkSync, readdirSync } = await import('node:fs')
      symlinkSync(goal, path.join(evil, 'link'))
      const content = folder()
      writeFileSync(path.join(content, 'token'), 'secret\n')
      mkdirSync(path.join(goal, 'witness'))
      const mounts = [mount(evil, '/evil'), mount(content, '/evil/link/sub')]
      const { output } = await scratch().run(sh(`cat ${goal}/sub/token`), { mounts })
      expect(output).toBe('secret\n')
      expect(readdirSync(goal)).toEqual(['witness'])
    })

    test('the working folder is not one of ours', async () => {
      const start = scratch().start(['pwd'], { workingDir: '/proc/self/fd/20' })
      await expect(start).rejects.toThrow()
    })

    test("the kernel's secrets are hidden, its settings protected", async () => {
      const security = { maskedPaths: ['/proc/version', '/proc/tty', '/proc/not-there'], readonlyPaths: ['/proc/sys'] }
      const script =
        'exec 2>&1; cat /proc/version | wc -c; ls /proc/tty | wc -l; echo 1 > /proc/sys/kernel/hostname; touch /sys/x'
      const { output } = await scratch().run(sh(script), { security })
      expect(output).toMatch(/^0\n0\n.*Read-only file system\n.*Read-only file system\n$/)
    })

    test('/dev has what programs expect, and nothing more', async () => {
      const script = 'echo x > /dev/null; head -c 4 /dev/zero | wc -c; echo y > /dev/stdout; ls /dev | tr "\\n" " "'
      const { output } = await scratch().run(sh(script))
      expect(output).toMatch(
        /^4\ny\n(core )?fd full mqueue null ptmx pts random shm stderr stdin stdout tty urandom zero $/,
      )
    })

    test('a device made by the container is inert', async () => {
      const { output } = await scratch().run(
        sh('exec 2>&1; mknod /d c 10 237 && head -c 1 /d; mknod /dev/e c 10 237; head -c 1 /dev/e'),
      )
      expect(output).toMatch(/ermission denied|not permitted/)
    })
  })

  describe('names and namespaces', () => {
    test('hostname and resolv.conf are the pod’s', async () => {
      const { output } = await scratch().run(sh('hostname; cat /etc/hostname /etc/resolv.conf'))
      expect(output).toBe('web-0\nweb-0\nsearch default.svc.cluster.local\nnameserver 10.96.0.10\noptions ndots:5\n')
    })

    test('on the node’s network a pod has a name all the same', async () => {
      const namespaces = { network: 'NODE', pid: 'CONTAINER', ipc: 'POD' } as const
      const script = sh('hostname; cat /etc/hostname; echo $HOSTNAME')
      expect((await scratch().run(script, {}, { namespaces })).output).toMatch(/^(\S+)\n\1\n\1\n$/)
    })

    test('the program is the first process, and sees only its own', async () => {
      const { output } = await scratch().run(sh('echo $$; ls /proc | grep -c "^[0-9]"'))
      expect(output.startsWith('1\n')).toBe(true)
      expect(Number(output.split('\n')[1])).toBeLessThan(6)
    })

    test('/dev/shm and System V memory are shared by the pod', async () => {
      const { runtime, sandbox, container, output } = scratch()
      const { id, config } = await sandbox()
      const first = await runtime.createContainer(id, container(sh('echo shared > /dev/shm/x; sleep 1000')), config)
      await runtime.startContainer(first)
      const reader = container(sh('while [ ! -s /dev/shm/x ]; do sleep 0.02; done; cat /dev/shm/x'), {
        name: 'two',
        logPath: 'two/0.log',
      })
      const second = await runtime.createContainer(id, reader, config)
      await runtime.startContainer(second)
      await expect.poll(() => output(second)).toBe('shared\n')
    })

    test.skipIf(!abilities.network)('sysctls of the pod are set, and nobody else’s', async () => {
      const sysctls = { 'net.ipv4.ip_unprivileged_port_start': '77', 'kernel.shm_rmid_forced': '1' }
      const script = 'cat /proc/sys/net/ipv4/ip_unprivileged_port_start /proc/sys/kernel/shm_rmid_forced'
      const { output } = await scratch().run(sh(script), {}, { sysctls })
      expect(output).toBe('77\n1\n')
      const refused = scratch().sandbox({ sysctls: { 'kernel.no_such_thing': '1' } })
      await expect(refused).rejects.toThrow('kernel.no_such_thing')
    })
  })

  describe('rights', () => {
    const status = (fields: string) => sh(`grep -E "^(${fields}):" /proc/self/status | tr -s "\\t " " "`)

    test('a container has the default capabilities, and keeps none it is not given', async () => {
      const { run } = scratch()
      expect((await run(status('CapEff|CapBnd|CapInh'))).output).toBe(
        'CapInh: 0000000000000000\nCapEff: 00000000a80425fb\nCapBnd: 00000000a80425fb\n',
      )
      const none = await run(status('CapEff|CapBnd'), { security: { dropCapabilities: ['ALL'] } })
      expect(none.output).toBe('CapEff: 0000000000000000\nCapBnd: 0000000000000000\n')
      const security = { dropCapabilities: ['ALL'], addCapabilities: ['NET_BIND_SERVICE'] }
      expect((await run(status('CapEff'), { security })).output).toBe('CapEff: 0000000000000400\n')
    })

    test.skipIf(!abilities.users)('users and groups by number and by name', async () => {
      const { run, runtime } = scratch()
      const numbers = await run(sh('id -u; id -g; id -G; grep CapEff /proc/self/status'), {
        security: { runAsUser: 1000, runAsGroup: 3000, supplementalGroups: [2000] },
      })
      expect(numbers.output).toBe('1000\n3000\n3000 2000\nCapEff:\t0000000000000000\n')
      // Not every runtime tells it.
      const { user = { uid: 1000, gid: 3000 } } = await runtime.containerStatus(numbers.id)
      expect(user).toMatchObject({ uid: 1000, gid: 3000 })
      const { output } = await run(sh('id -u; id -g; echo $HOME'), { security: { runAsUsername: 'nobody' } })
      expect(output).toBe('65534\n65534\n/\n')
      await expect(run(['true'], { security: { runAsUsername: 'ghost' } })).rejects.toThrow(
        /unable to find user ghost|no users found/,
      )
    })

    describe.skipIf(!abilities.podUsers)('a pod with users of its own', () => {
      const FIRST = 77 * 65_536
      const ids = [{ containerId: 0, hostId: FIRST, length: 65_536 }]
      const namespaces = { network: 'POD', pid: 'CONTAINER', ipc: 'POD', user: { uids: ids, gids: ids } } as const
      const inPod = { namespaces }

      test('its root is nobody on the node, and owns its files', async () => {
        const volume = folder()
        writeFileSync(path.join(volume, 'given'), '')
        const script = `tr -s ' ' < /proc/self/uid_map; id -u; mkdir /made && touch /etc/new /data/new /dev/shm/new
          stat -c '%u %n' / /etc /etc/new /made /data /data/given /data/new /dev /dev/shm/new /work /etc/hostname
          chown 1000:2000 /made && stat -c '%u:%g' /made; hostname; (nc -l -p 80 & sleep 0.2; kill $!) && echo bound`
        const { output } = await scratch().run(
          sh(script),
          { mounts: [mount(volume, '/data')], workingDir: '/work' },
          inPod,
        )
        const own = ['/', '/etc', '/etc/new', '/made', '/data', '/data/given', '/data/new', '/dev', '/dev/shm/new']
        const owned = [...own, '/work', '/etc/hostname'].map((name) => `0 ${name}`)
        expect(output.trim().split('\n')).toEqual([`0 ${FIRST} 65536`, '0', ...owned, '1000:2000', 'web-0', 'bound'])
        expect(statSync(path.join(volume, 'new')).uid).toBe(0)
      })

      test('what leaves the container has no rights', async () => {
        const { start, exec, runtime } = scratch()
        const volume = folder()
        const id = await start(['sleep', '1000'], { mounts: [mount(volume, '/data')] }, inPod)
        const { stdout } = await exec(id, sh('id -u; grep -E "^Cap(Eff|Bnd)" /proc/self/status; touch /data/by-exec'))
        expect(stdout).toBe('0\nCapEff:\t00000000a80425fb\nCapBnd:\t00000000a80425fb\n')
        expect(statSync(path.join(volume, 'by-exec')).uid).toBe(0)
        const processes = readdirSync('/proc').filter((pid) => /^\d+$/.test(pid) && ownerOf(pid) === FIRST)
        expect(processes).not.toEqual([])
        const terminal = await runtime.exec(id, { command: sh('tty; echo x > $(tty)'), stdout: true, tty: true })
        expect(await collect(terminal.stdout)).toMatch(/^\/dev\/pts\/\d+\r\nx\r\n$/)
      })

      test('other users and groups are its own too', async () => {
        const security = { runAsUser: 1000, runAsGroup: 3000, supplementalGroups: [2000] }
        const { output } = await scratch().run(
          sh('id -u; id -g; id -G; cat /etc/hostname; echo out > /dev/stdout'),
          { security },
          inPod,
        )
        expect(output).toBe('1000\n3000\n3000 2000\nweb-0\nout\n')
      })
    })

    test.skipIf(!abilities.users)('a plain user writes to /dev/stdout too', async () => {
      const { output } = await scratch().run(sh('echo hello > /dev/stdout'), { security: { runAsUser: 1000 } })
      expect(output).toBe('hello\n')
    })

    test('no_new_privs and the default filter', async () => {
      const { run } = scratch()
      const confined = await run(status('NoNewPrivs|Seccomp'), { security: { noNewPrivileges: true } })
      expect(confined.output).toBe('NoNewPrivs: 1\nSeccomp: 2\n')
      const open = await run(status('NoNewPrivs|Seccomp'), { security: { seccomp: { type: 'Unconfined' } } })
      expect(open.output).toBe('NoNewPrivs: 0\nSeccomp: 0\n')
      expect((await run(sh('unshare -r true'))).status.exitCode).not.toBe(0)
    })

    test('a profile of the user filters what it says', async () => {
      const file = path.join(folder(), 'profile.json')
      const names = ['mkdir', 'mkdirat']
      const profile = { defaultAction: 'SCMP_ACT_ALLOW', syscalls: [{ names, action: 'SCMP_ACT_ERRNO' }] }
      writeFileSync(file, JSON.stringify(profile))
      const security = { seccomp: { type: 'Localhost', path: file } } as const
      const { output } = await scratch().run(sh('exec 2>&1; mkdir /x || touch /y && echo touched'), { security })
      expect(output).toMatch(/not permitted\ntouched\n$/)
      const missing = { seccomp: { type: 'Localhost', path: '/no/profile' } } as const
      await expect(scratch().start(['true'], { security: missing })).rejects.toThrow('/no/profile')
    })

    test('a privileged container may do all that root may', async () => {
      const script = 'mkdir /m && mount -t tmpfs t /m && echo mounted; grep Seccomp: /proc/self/status; ls /dev | wc -l'
      const { output } = await scratch().run(sh(script), { security: { privileged: true } })
      expect(output).toContain('mounted\nSeccomp:\t0\n')
    })

    test('our own program is out of reach', async () => {
      const { output } = await scratch().run(sh('readlink /proc/1/exe; ls -l /proc/self/fd | grep -c -v total'))
      expect(output).toMatch(/busybox|sh|dash/)
      expect(output).not.toContain('memfd')
    })
  })
}
