/** The running example: three pods that answer their own name, behind one Service, on a node of real containers. */
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Pod } from '../../src/api/generated/core-v1.ts'
import { isConditionTrue } from '../../src/api/meta/conditions.ts'
import { asRoot } from '../linux/as-root.ts'
import { cgroupsOf, mountsBelow, processesWith } from '../tools/leftovers.ts'
import { eventually, Machine } from '../tools/machine.ts'

asRoot('hostnames', () => {
  let machine: Machine
  let address: string
  beforeAll(async () => {
    machine = new Machine()
    machine.linux.openSysctl(machine.namespace).write('net/ipv4/ip_forward', 0)
    const greeting = await machine.up('--demo')
    expect(greeting).toContain('The demo runs')
    address = await machine.kubectl('get', 'service', 'hostnames', '-o', 'jsonpath={.spec.clusterIP}')
  }, 120_000)
  afterAll(() => machine?.[Symbol.asyncDispose](), 120_000)

  const ask = async () => (await machine.must('curl', '-s', '-m', '5', `http://${address}`)).trim()
  const askMany = async (count: number) => {
    const answers: string[] = []
    for (let i = 0; i < count; i++) answers.push(await ask())
    return answers
  }
  const podNames = async () => {
    const names = await machine.kubectl(
      'get',
      'pods',
      '-l',
      'app=hostnames',
      '-o',
      'jsonpath={.items[*].metadata.name}',
    )
    return names.split(' ').filter((name) => name !== '')
  }
  const endpoints = () =>
    machine.kubectl('get', 'endpoints', 'hostnames', '-o', 'jsonpath={.subsets[*].addresses[*].ip}')

  test('answers come from all three pods', async () => {
    expect(new Set(await askMany(40))).toEqual(new Set(await podNames()))
    expect((await endpoints()).split(' ')).toHaveLength(3)
  })

  test('a pod that is deleted gets no more traffic, and another takes its place', async () => {
    const [gone] = await podNames()
    await machine.kubectl('delete', 'pod', gone!, '--wait=false')
    await eventually(endpoints, (ips) => ips.split(' ').length === 3)
    await eventually(podNames, (names) => names.length === 3 && !names.includes(gone!))
    const answers = await askMany(20)
    expect(answers).not.toContain(gone)
    expect(answers).toHaveLength(20)
  })

  test('a pod finds Services by name, and those older than itself in its environment', async () => {
    const script = 'node -e "fetch(\'http://hostnames\').then((r) => r.text()).then(console.log)"; env'
    await machine.kubectl(
      'run',
      'client',
      '--image=sampan.local/host',
      '--restart=Never',
      '--command',
      '--',
      'sh',
      '-c',
      script,
    )
    await machine.kubectl('wait', '--for=jsonpath={.status.phase}=Succeeded', 'pod/client', '--timeout=60s')
    const log = containerLog(machine, 'client')
    expect(log).toContain(`HOSTNAMES_SERVICE_HOST=${address}`)
    expect(log).toContain(`HOSTNAMES_PORT_80_TCP=tcp://${address}:80`)
    const names = await podNames()
    expect(names.some((name) => log.includes(name))).toBe(true)
  })

  test('the node and the control plane may die: traffic goes on, and what runs is adopted', async () => {
    const before = await podNames()
    const node = JSON.parse(readFileSync(`${machine.dataDir}/nodes/node-1/node.json`, 'utf8')) as { pid: number }
    const server = JSON.parse(readFileSync(`${machine.dataDir}/server.json`, 'utf8')) as { pid: number }
    process.kill(server.pid, 'SIGKILL')
    process.kill(node.pid, 'SIGKILL')
    expect(before).toContain(await ask())
    await machine.up()
    await eventually(
      async () => JSON.parse(readFileSync(`${machine.dataDir}/nodes/node-1/node.json`, 'utf8')) as { pid: number },
      ({ pid }) => pid !== node.pid,
    )
    await machine.kubectl('wait', '--for=condition=Ready', 'node/node-1', '--timeout=60s')
    expect((await podNames()).sort()).toEqual(before.sort())
    const restarts = await machine.kubectl(
      'get',
      'pods',
      '-l',
      'app=hostnames',
      '-o',
      'jsonpath={.items[*].status.containerStatuses[*].restartCount}',
    )
    expect(restarts).toBe('0 0 0')
    expect(new Set(await askMany(40))).toEqual(new Set(before))
  })

  test('down leaves nothing', async () => {
    const folder = machine.dataDir
    const sandboxes = readdirSync(`${folder}/nodes/node-1/containers/sandboxes`)
    const isOurs = (name: string) => name.includes('-node-') || sandboxes.some((id) => name.endsWith(id))
    const before = machine.linux.namespaces.list().filter(isOurs)
    expect(before.length).toBeGreaterThanOrEqual(4)
    await machine.down()
    const id = createHash('sha256').update(folder).digest('hex').slice(0, 8)
    const after = machine.linux.namespaces.list()
    expect(after.filter((name) => name.startsWith(`sampan-${id}-`))).toEqual([])
    expect(after.filter((name) => sandboxes.some((sandbox) => name.endsWith(sandbox)))).toEqual([])
    expect(mountsBelow(folder)).toEqual([])
    using network = machine.linux.openRtnetlink(machine.namespace)
    expect(network.links().map(({ name }) => name)).toEqual(['lo'])
    using nftables = machine.linux.openNftables(machine.namespace)
    expect(nftables.tables()).toEqual([])
    expect(machine.linux.openSysctl(machine.namespace).read('net/ipv4/ip_forward')).toBe('0')
    expect(processesWith(folder)).toEqual([])
    expect(cgroupsOf(`${folder}/nodes/node-1`)).toEqual([])
  })

  /** The containers of the pods that the API says are ready. */
  const readyContainers = async () => {
    const { items } = JSON.parse(await machine.kubectl('get', 'pods', '-l', 'app=hostnames', '-o', 'json')) as {
      items: Pod[]
    }
    const ready = items.filter(({ status }) => isConditionTrue(status?.conditions, 'Ready'))
    return ready.map(({ status }) => status!.containerStatuses![0]!.containerID)
  }
  const running = async () => {
    await machine.up()
    await eventually(ask, (name) => name !== '')
    return eventually(readyContainers, (ids) => ids.length === 3)
  }
  const kill = async () => {
    for (const file of ['server.json', 'nodes/node-1/node.json'])
      process.kill((JSON.parse(readFileSync(`${machine.dataDir}/${file}`, 'utf8')) as { pid: number }).pid, 'SIGKILL')
    // What is left of the pods ends too, and no API server hears of it.
    await machine.down()
  }

  test('a cluster that was stopped says of no pod that it is ready before it runs again', async () => {
    const before = await running()
    await machine.down()
    await machine.up()
    const addresses = (await endpoints()).split(' ').filter((ip) => ip !== '')
    const containers = await readyContainers()
    expect(containers.filter((id) => before.includes(id))).toEqual([])
    expect(addresses.length).toBeLessThanOrEqual(containers.length)
    await eventually(endpoints, (found) => found.split(' ').length === 3)
    expect(new Set(await askMany(20)).size).toBe(3)
  })

  test('up --demo brings it to a cluster that runs, too', async () => {
    await machine.kubectl('delete', 'deployment', 'hostnames', '--cascade=foreground', '--wait')
    expect(await machine.up('--demo')).toMatch(/already up.*The demo runs/s)
    expect(new Set(await askMany(20)).size).toBe(3)
  })

  test.each([
    ['stopped', () => machine.down()],
    ['killed with all its pods', kill],
  ])('a demo that was %s runs again when up says so', async (_how, end) => {
    const before = await running()
    await end()
    expect(await machine.up('--demo')).toContain('The demo runs')
    const answers = await Promise.all(Array.from({ length: 20 }, ask))
    expect(new Set(answers)).toEqual(new Set(await podNames()))
    expect((await endpoints()).split(' ')).toHaveLength(3)
    const containers = await readyContainers()
    expect(containers).toHaveLength(3)
    expect(containers.filter((id) => before.includes(id))).toEqual([])
  })
})

function containerLog(machine: Machine, pod: string): string {
  const logs = `${machine.dataDir}/nodes/node-1/kubelet/log/pods`
  const folder = readdirSync(logs).find((name) => name.startsWith(`default_${pod}_`))
  return readFileSync(`${logs}/${folder}/${pod}/0.log`, 'utf8')
}
