/** The running example on a node whose pods are run by a containerd of its own. */
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { containerdDir, nodeCgroupRoot } from '../../src/cluster/node/node-settings.ts'
import { openCgroups } from '../../src/linux/cgroups.ts'
import { writeBusyboxArchive } from '../container-runtime/containerd-under-test.ts'
import { asRoot } from '../linux/as-root.ts'
import { kubectl } from '../tools/kubectl.ts'
import { eventually, Machine } from '../tools/machine.ts'

asRoot('a node on containerd', () => {
  let machine: Machine
  let address: string
  beforeAll(async () => {
    machine = new Machine()
    const greeting = await machine.up('--runtime', 'containerd', '--demo')
    expect(greeting, machine.logs()).toContain('The demo runs')
    address = await machine.kubectl('get', 'service', 'hostnames', '-o', 'jsonpath={.spec.clusterIP}')
  }, 180_000)
  afterAll(() => machine?.[Symbol.asyncDispose](), 120_000)

  const pods = (path: string) =>
    machine.kubectl('get', 'pods', '-l', 'app=hostnames', '-o', `jsonpath={.items[*]${path}}`)
  const names = async () => (await pods('.metadata.name')).split(' ').sort()
  const ask = async () => (await machine.must('curl', '-s', '-m', '5', `http://${address}`)).trim()
  const answers = async () => new Set(await Promise.all(Array.from({ length: 30 }, ask)))
  const pidOf = (file: string) => (JSON.parse(readFileSync(file, 'utf8')) as { pid: number }).pid

  test('answers come from all three pods, which have addresses of the cluster', async () => {
    expect(await answers()).toEqual(new Set(await names()))
    for (const ip of (await pods('.status.podIP')).split(' ')) expect(ip).toMatch(/^10\.244\.0\./)
    const version = ['get', 'nodes', '-o', 'jsonpath={.items[*].status.nodeInfo.containerRuntimeVersion}']
    expect(await machine.kubectl(...version)).toMatch(/^containerd:\/\//)
  })

  test('exec, logs and port-forward', async () => {
    const [pod] = await names()
    const exec = await machine.kubectl('exec', pod!, '--', 'sh', '-c', 'hostname; echo to the log > /proc/1/fd/1')
    expect(exec.trim()).toBe(pod)
    await eventually(
      () => machine.kubectl('logs', pod!),
      (log) => log === 'to the log\n',
    )
    const forward = machine.spawn(await kubectl('1.36'), ['port-forward', pod!, ':9376'])
    try {
      let said = ''
      forward.stdout!.on('data', (chunk) => (said += chunk))
      await eventually(
        async () => said,
        (text) => /127\.0\.0\.1:\d+/.test(text),
      )
      const port = /127\.0\.0\.1:(\d+)/.exec(said)![1]
      expect((await machine.must('curl', '-s', '-m', '5', `http://127.0.0.1:${port}`)).trim()).toBe(pod)
    } finally {
      forward.kill()
    }
  })

  test('images come from archives too, and pods run them', async () => {
    const archive = writeBusyboxArchive(machine.folder, 'test.local/loaded:1')
    execFileSync('gzip', [archive])
    const loaded = await machine.sampan('image', 'load', `${archive}.gz`)
    expect(loaded).toMatchObject({ code: 0, stdout: expect.stringContaining('Loaded test.local/loaded:1') })
    expect((await machine.sampan('image', 'list')).stdout).toContain('test.local/loaded:1')
    await machine.kubectl('run', 'loaded', '--image=test.local/loaded:1', '--restart=Never', '--', 'echo', 'ahoy')
    await machine.kubectl('wait', '--for=jsonpath={.status.phase}=Succeeded', 'pod/loaded', '--timeout=60s')
    expect(await machine.kubectl('logs', 'loaded')).toBe('ahoy\n')
    await machine.kubectl('delete', 'pod', 'loaded')
    const broken = await machine.sampan('image', 'load', '/etc/hostname')
    expect(broken).toMatchObject({ code: 1, stderr: expect.stringContaining('/etc/hostname') })
  })

  test('control plane, node and containerd may die: traffic goes on, and what runs is adopted', async () => {
    const before = await names()
    const node = `${machine.dataDir}/nodes/node-1`
    const victims = [`${machine.dataDir}/server.json`, `${node}/node.json`, `${containerdDir(node)}/containerd.json`]
    const pids = victims.map(pidOf)
    for (const pid of pids) process.kill(pid, 'SIGKILL')
    expect(before).toContain(await ask())
    await machine.up()
    await eventually(
      async () => victims.map(pidOf),
      (now) => now.every((pid, i) => pid !== pids[i]),
    )
    await machine.kubectl('wait', '--for=condition=Ready', 'node/node-1', '--timeout=60s')
    expect(await names()).toEqual(before)
    await eventually(
      () => pods('.status.containerStatuses[*].restartCount'),
      (counts) => counts === '0 0 0',
    )
    expect(await answers()).toEqual(new Set(before))
  })

  test('down leaves nothing', async () => {
    const node = `${machine.dataDir}/nodes/node-1`
    const containerd = pidOf(`${containerdDir(node)}/containerd.json`)
    await machine.down()
    expect(() => process.kill(containerd, 0)).toThrow('ESRCH')
    const mounts = readFileSync('/proc/self/mountinfo', 'utf8')
    const state = /^state = "(.*)"/m.exec(readFileSync(`${containerdDir(node)}/config.toml`, 'utf8'))![1]!
    expect(mounts).not.toContain(machine.dataDir)
    expect(mounts).not.toContain(state)
    expect(existsSync(state)).toBe(false)
    expect(openCgroups({ root: nodeCgroupRoot(node) }).processes('')).toEqual([])
    expect(existsSync(`/sys/fs/cgroup/pids${nodeCgroupRoot(node)}`)).toBe(false)
    expect(existsSync(`/sys/fs/cgroup/devices${nodeCgroupRoot(node)}`)).toBe(false)
  })
})
