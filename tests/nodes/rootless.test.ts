/** A plain user, with no rights and nothing set up: real pods behind a Service all the same. */
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { NetworkNamespace } from '../../src/linux/network-namespace.ts'
import { asRoot } from '../linux/as-root.ts'
import { kubectl } from '../tools/kubectl.ts'
import { eventually, Machine } from '../tools/machine.ts'
import { PlainUser } from '../tools/plain-user.ts'

const USER = 54_322
const LIMITED = {
  spec: {
    containers: [
      {
        name: 'limited',
        image: 'sampan.local/host',
        command: ['sleep', '1000'],
        resources: { limits: { cpu: '1', memory: '64Mi' } },
      },
    ],
  },
}
const WORLD = '203.0.113.1'
const MACHINE = '203.0.113.2'

asRoot('without root', () => {
  let machine: Machine
  let user: PlainUser
  let home: string
  let kubectlPath: string
  let world: OutsideWorld
  beforeAll(async () => {
    machine = new Machine()
    user = new PlainUser(USER)
    home = user.home
    world = await OutsideWorld.start(machine)
    writeFileSync(path.join(home, 'resolv.conf'), `nameserver ${WORLD}\n`)
    kubectlPath = path.join(home, 'kubectl')
    copyFileSync(await kubectl('1.36'), kubectlPath)
  })
  afterAll(async () => {
    await world?.[Symbol.asyncDispose]()
    await machine?.[Symbol.asyncDispose]()
    user?.[Symbol.dispose]()
  })

  /** With a name server of the test's own. */
  const asUser = (...command: string[]) => {
    const mount = `mount --bind ${home}/resolv.conf /etc/resolv.conf && exec "$@"`
    return machine.must('unshare', '--mount', 'sh', '-c', mount, 'sh', ...user.command(...command))
  }
  const ask = (...args: string[]) => asUser(kubectlPath, ...args)
  const sampan = (...args: string[]) => asUser(process.execPath, user.program, ...args)

  const podNames = async () => (await ask('get', 'pods', '-o', 'jsonpath={.items[*].metadata.name}')).split(' ').sort()
  const readyContainers = async () => {
    const ready = 'jsonpath={.items[*].status.containerStatuses[?(@.ready==true)].containerID}'
    return (await ask('get', 'pods', '-o', ready)).split(' ').filter(Boolean)
  }
  /** A connection each, and many at once: on a busy machine every start of a command takes seconds. */
  const whoAnswers = async (pod: string, at: string) => {
    const script = `
      const { get } = require('node:http')
      const ask = () => new Promise((done, fail) => get('http://${at}', { agent: false }, (answer) => answer.on('data', done)).on('error', fail))
      Promise.all(Array.from({ length: 40 }, ask)).then((all) => console.log([...new Set(all.map(String))].sort().join(' ').replaceAll('\\n', '')))`
    return (await ask('exec', pod, '--', 'node', '-e', script)).trim().split(' ')
  }

  test('pods run, and find each other by name', async () => {
    expect(await sampan('up', '--detach', '--demo', '--api-port', '0')).toContain('The demo runs')
    const pods = await podNames()
    expect(pods).toHaveLength(3)
    const all = pods.join(' ')
    await eventually(
      () => whoAnswers(pods[0]!, 'hostnames'),
      (names) => names.join(' ') === all,
      60,
    )
  })

  test('after down the demo runs again when up says so', async () => {
    const before = await readyContainers()
    await sampan('down')
    expect(await sampan('up', '--detach', '--demo')).toContain('The demo runs')
    const containers = await readyContainers()
    expect(containers).toHaveLength(3)
    expect(containers.filter((id) => before.includes(id))).toEqual([])
    const pods = await podNames()
    const address = await ask('get', 'service', 'hostnames', '-o', 'jsonpath={.spec.clusterIP}')
    expect(await whoAnswers(pods[0]!, address)).toEqual(pods)
  })

  const noneLeft = () =>
    eventually(
      async () => user.processes(),
      (left) => left.length === 0,
    ).catch((error: unknown) => {
      const log = (file: string) => readFileSync(path.join(home, 'data/sampan/default', file), 'utf8').slice(-2000)
      throw new Error(`${error}\n${log('server.log')}\n${log('nodes/node-1/node.log')}`)
    })
  const inPod = async (script: string) => {
    const [pod] = (await ask('get', 'pods', '-o', 'jsonpath={.items[*].metadata.name}')).split(' ')
    return (await ask('exec', pod!, '--', 'node', '--input-type=module', '-e', script)).trim()
  }

  test.each([
    ['finds a server of the world by its name', `console.log(await (await fetch('http://example.test')).text())`],
    ['and by its address', `console.log(await (await fetch('http://${WORLD}')).text())`],
  ])('a pod %s', async (_what, script) => {
    expect(await inPod(script)).toBe(`hello from ${WORLD}`)
  })

  test('much goes in and out whole', async () => {
    const script = `
      import { createHash } from 'node:crypto'
      const big = Buffer.from(await (await fetch('http://${WORLD}/big')).arrayBuffer())
      const sum = await (await fetch('http://${WORLD}', { method: 'POST', body: big })).text()
      console.log(big.length, sum === createHash('sha256').update(big).digest('hex'))`
    expect(await inPod(script)).toBe(`${8 * 1024 * 1024} true`)
  })

  test('one side of a connection may end before the other', async () => {
    const script = `
      import { connect } from 'node:net'
      connect({ host: '${WORLD}', port: 7, allowHalfOpen: true }).on('data', (text) => console.log(String(text))).end('12345')`
    expect(await inPod(script)).toBe('5 bytes')
  })

  test.each([
    ['nobody listens', WORLD, 9],
    ['the machine itself', '127.0.0.53', 80],
  ])('a connection that is refused: %s', async (_what, host, port) => {
    const script = `
      import { connect } from 'node:net'
      connect(${port}, '${host}').on('error', ({ code }) => console.log(code)).on('close', () => console.log('closed'))`
    expect(await inPod(script)).toMatch(/^(ECONNRESET|ECONNREFUSED)\nclosed$/)
  })

  test.each([1, 1400, 9000])('a datagram of %i bytes comes back', async (length) => {
    const script = `
      import { createSocket } from 'node:dgram'
      const socket = createSocket('udp4').on('message', (answer) => { console.log(answer.length); socket.close() })
      socket.send(Buffer.alloc(${length}, 1), 7, '${WORLD}')`
    expect(await inPod(script)).toBe(String(length))
  })

  test('a ping is answered', async () => {
    const [pod] = (await ask('get', 'pods', '-o', 'jsonpath={.items[*].metadata.name}')).split(' ')
    expect(await ask('exec', pod!, '--', 'busybox', 'ping', '-c', '2', WORLD)).toContain('2 packets received')
  })

  test('limits that the user cannot set are told of', async () => {
    await ask('run', 'limited', '--image=sampan.local/host', '--overrides', JSON.stringify(LIMITED))
    const events = () => ask('get', 'events', '--field-selector=reason=LimitsNotEnforced', '-o', 'jsonpath={..message}')
    const message = 'Limits of cpu and memory are not enforced: this node cannot write the cgroups for them'
    await eventually(events, (text) => text === message)
    await ask('delete', 'pod', 'limited', '--now')
  })

  test('when the outer process is killed the inner ones end, and the next start begins anew', async () => {
    const { pid } = JSON.parse(readFileSync(path.join(home, 'data/sampan/default/server.json'), 'utf8')) as {
      pid: number
    }
    const outer = Number(/^PPid:\t(\d+)$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1])
    process.kill(outer, 'SIGKILL')
    await noneLeft()
    expect(await sampan('up', '--detach', '--demo')).toContain('The demo runs')
  })

  test('whatever is killed, down leaves nothing running', async () => {
    // Some end by themselves when others do: what is left by then is for `down` to end.
    for (const pid of user.processes().filter(isNode)) kill(Number(pid))
    await sampan('down')
    await noneLeft()
    await sampan('up', '--detach')
  })

  test('down leaves no process', async () => {
    await sampan('down', '--delete')
    await noneLeft()
    expect(readdirSync(path.join(home, 'data', 'sampan'))).toEqual([])
  })
})

/** A network beyond the machine, reached by one link, with servers in it. */
class OutsideWorld implements AsyncDisposable {
  readonly #machine: Machine
  readonly #namespace: NetworkNamespace
  #servers: ChildProcess | undefined

  private constructor(machine: Machine) {
    this.#machine = machine
    this.#namespace = machine.linux.namespaces.create(`world-${process.pid}`)
  }

  static async start(machine: Machine): Promise<OutsideWorld> {
    const world = new OutsideWorld(machine)
    const { linux, namespace } = machine
    using here = linux.openRtnetlink(namespace)
    using there = linux.openRtnetlink(world.#namespace)
    const link = here.addLink({
      kind: 'veth',
      name: 'world',
      up: true,
      peer: { name: 'eth0', namespace: world.#namespace },
    })
    here.addAddress({ link: link.index, address: `${MACHINE}/24` })
    const eth0 = there.link('eth0')!.index
    there.changeLink(eth0, { up: true })
    there.addAddress({ link: eth0, address: `${WORLD}/24` })
    // As most distributions have it: everybody may ping.
    linux.openSysctl(namespace).write('net/ipv4/ping_group_range', '0 2147483647')
    const script = path.join(import.meta.dirname, 'outside-world.mjs')
    world.#servers = machine.spawn(process.execPath, [script, WORLD], world.#namespace)
    await once(world.#servers.stdout!, 'data')
    return world
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#servers?.kill('SIGKILL')
    this.#namespace[Symbol.dispose]()
    this.#machine.linux.namespaces.delete(this.#namespace.name)
  }
}

/** A process of Sampan, not one of a pod. */
const isNode = (pid: string) => {
  try {
    return /sampan-(node|server)\.js/.test(readFileSync(`/proc/${pid}/cmdline`, 'utf8'))
  } catch {
    return false
  }
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}
