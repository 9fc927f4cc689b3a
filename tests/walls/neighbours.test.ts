/**
 * Machines that share an Ethernet with one that runs a cluster, and send it packets for addresses behind it. They reach nothing
 * there unless the administrator allows it.
 */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { asRoot, asRootEach } from '../linux/as-root.ts'
import { eventually, Machine } from '../tools/machine.ts'
import { MachineNetwork } from '../tools/machine-network.ts'

const PORT = 8080
const NODE_PORT = 30080
const labels = { app: 'web' }
const PROGRAM = `require('node:http').createServer((_, a) => a.end('web')).listen(${PORT}); process.on('SIGTERM', () => process.exit())`
const web = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'web', labels },
  spec: {
    terminationGracePeriodSeconds: 1,
    containers: [{ name: 'web', image: 'sampan.local/host', command: ['node', '-e', PROGRAM] }],
  },
}
const service = {
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name: 'web' },
  spec: { type: 'LoadBalancer', selector: labels, ports: [{ port: 80, targetPort: PORT, nodePort: NODE_PORT }] },
}

/** Prints which of the places answer: `tcp ADDRESS PORT`, or `dns ADDRESS PORT` for a query by UDP. */
const PROBE = `
const [, ...places] = process.argv
const question = Buffer.from('123401000001000000000000' + '0a6b756265726e657465730764656661756c7403737663' + '07636c7573746572056c6f63616c00' + '00010001', 'hex')
const tcp = (host, port) => new Promise((r) => {
  const socket = require('node:net').connect({ host, port: Number(port) }, () => { socket.destroy(); r(true) })
  socket.on('error', () => r(false))
})
const dns = (host, port) => new Promise((r) => {
  const socket = require('node:dgram').createSocket('udp4')
  socket.on('message', () => r(true)).on('error', () => r(false))
  socket.send(question, Number(port), host)
})
const ask = (place) => {
  const [kind, host, port] = place.split(' ')
  return Promise.race([(kind === 'tcp' ? tcp : dns)(host, port), new Promise((r) => setTimeout(r, 2000, false))])
}
Promise.all(places.map(ask)).then((answers) => { console.log(JSON.stringify(answers)); process.exit() })`

type Places = Readonly<Record<string, string>>

async function reached(machine: Machine, places: Places): Promise<string[]> {
  const names = Object.keys(places)
  const answers = JSON.parse(await machine.must(process.execPath, '-e', PROBE, ...Object.values(places))) as boolean[]
  return names.filter((_, i) => answers[i])
}

/** The cluster's machine, and a neighbour that sends it what is for these ranges. */
class Street implements AsyncDisposable {
  readonly network = new MachineNetwork()
  readonly machine = new Machine()
  readonly neighbour = new Machine()
  readonly address = this.network.connect(this.machine)
  readonly neighbourAddress = this.network.connect(this.neighbour)

  constructor(ranges: readonly string[]) {
    using routes = this.neighbour.linux.openRtnetlink(this.neighbour.namespace)
    for (const destination of ranges) routes.replaceRoute({ destination, gateway: this.address })
  }

  async runWeb(): Promise<{ podIP: string; clusterIP: string; loadBalancerIP: string }> {
    await this.machine.apply(web, service)
    await this.machine.kubectl('wait', '--for=condition=Ready', 'pod/web', '--timeout=60s')
    const ask = (what: string, path: string) => this.machine.kubectl('get', what, 'web', '-o', `jsonpath={${path}}`)
    const podIP = await ask('pod', '.status.podIP')
    const clusterIP = await ask('service', '.spec.clusterIP')
    const loadBalancerIP = await eventually(
      () => ask('service', '.status.loadBalancer.ingress[0].ip'),
      (ip) => ip !== '',
    )
    return { podIP, clusterIP, loadBalancerIP }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.neighbour[Symbol.asyncDispose]()
    await this.machine[Symbol.asyncDispose]()
    this.network[Symbol.dispose]()
  }
}

asRoot('a cluster with a node behind the machine', () => {
  const street = new Street(['172.30.0.0/24', '10.244.0.0/16', '10.96.0.0/16', '10.98.0.0/24'])
  const { machine, neighbour } = street
  let places: Places
  beforeAll(async () => {
    await machine.up('--api-port', '6443')
    const { podIP, clusterIP, loadBalancerIP } = await street.runWeb()
    places = {
      pod: `tcp ${podIP} ${PORT}`,
      'cluster IP': `tcp ${clusterIP} 80`,
      'load balancer': `tcp ${loadBalancerIP} 80`,
      'node port': `tcp 172.30.0.2 ${NODE_PORT}`,
      kubelet: 'tcp 172.30.0.2 10250',
      'API server': 'tcp 172.30.0.1 6443',
      'Service of the API server': 'tcp 10.96.0.1 443',
      'DNS of the node': 'dns 172.30.0.2 10053',
      'DNS Service': 'dns 10.96.0.10 53',
    }
  })
  afterAll(() => street[Symbol.asyncDispose]())

  test('answers its own machine everywhere', async () => {
    await eventually(
      () => reached(machine, places),
      (names) => names.length === Object.keys(places).length,
    )
  })

  test('answers a neighbour nowhere', async () => {
    expect(await reached(neighbour, places)).toEqual([])
  })

  test('lets pods reach the neighbour', async () => {
    const script = `require('node:net').createServer((s) => s.end('hello')).listen(${PORT})`
    const listening = neighbour.spawn(process.execPath, ['-e', script])
    try {
      const ask = `require('node:net').connect(${PORT}, '${street.neighbourAddress}').on('data', (d) => console.log(String(d)))`
      const answer = await eventually(
        () => machine.kubectl('exec', 'web', '--', 'node', '-e', ask),
        (text) => text.trim() === 'hello',
      )
      expect(answer.trim()).toBe('hello')
    } finally {
      listening.kill()
    }
  })

  test('answers a neighbour that --allow-forwarding-from names, until the flag names it no longer', async () => {
    const all = Object.keys(places)
    const isUp = () =>
      eventually(
        () => reached(machine, places),
        (names) => names.length === all.length,
        60,
      )
    const again = async (...sources: readonly string[]) => {
      await machine.down()
      await machine.up('--api-port', '6443', '--allow-forwarding-from', sources.join(','))
      await machine.kubectl('wait', '--for=condition=Ready', 'pod/web', '--timeout=60s')
      const podIP = await machine.kubectl('get', 'pod', 'web', '-o', 'jsonpath={.status.podIP}')
      places = { ...places, pod: `tcp ${podIP} ${PORT}` }
      await isUp()
    }
    await again('10.77.0.200', `${street.neighbourAddress}/32`)
    expect(await reached(neighbour, places)).toEqual(all)
    await again('eth0')
    expect(await reached(neighbour, places)).toEqual(all)
    await again('10.77.0.200')
    expect(await reached(neighbour, places)).toEqual([])
    await again('none')
    expect(await reached(neighbour, places)).toEqual([])
  })

  test('leaves no rule behind', async () => {
    await machine.down()
    using nftables = machine.linux.openNftables(machine.namespace)
    expect(nftables.tables()).toEqual([])
  })
})

const MODES = ['nftables', 'iptables', 'userspace'].map((mode) => [mode, mode] as const)

asRootEach(MODES, 'a cluster whose node is the machine, in mode', (mode) => {
  const street = new Street(['10.244.0.0/16', '10.96.0.0/16', '10.98.0.0/24'])
  const { machine, neighbour } = street
  let podIP: string
  let open: Places
  let closed: Places
  beforeAll(async () => {
    const choices = ['--api-port', '6443', '--proxy-mode', mode]
    await machine.up('--listen', street.address, '--node-name', 'one', ...choices)
    const addresses = await street.runWeb()
    podIP = addresses.podIP
    open = {
      'API server': `tcp ${street.address} 6443`,
      'node port': `tcp ${street.address} ${NODE_PORT}`,
      'load balancer': `tcp ${addresses.loadBalancerIP} 80`,
    }
    closed = {
      pod: `tcp ${podIP} ${PORT}`,
      'cluster IP': `tcp ${addresses.clusterIP} 80`,
      'Service of the API server': 'tcp 10.96.0.1 443',
      'DNS by UDP': `dns ${street.address} 10053`,
      'DNS by TCP': `tcp ${street.address} 10053`,
      'DNS Service': 'dns 10.96.0.10 53',
    }
  })
  afterAll(() => street[Symbol.asyncDispose]())

  test('answers its own machine everywhere', async () => {
    const places = { ...open, ...closed }
    await eventually(
      () => reached(machine, places),
      (names) => names.length === Object.keys(places).length,
    )
  })

  test('answers a neighbour at what is published, and nowhere else', async () => {
    expect(await reached(neighbour, { ...open, ...closed })).toEqual(Object.keys(open))
  })

  test('has no other open port, as those of a proxy in user space would be', async () => {
    const listening = await machine.must('ss', '-Hlnt', `src ${street.address}`)
    const ports = listening.split('\n').flatMap((line) => /:(\d+)\s/.exec(line)?.[1] ?? [])
    const places = Object.fromEntries(ports.map((port) => [port, `tcp ${street.address} ${port}`]))
    expect((await reached(neighbour, places)).sort()).toEqual(['10250', '6443'])
  })

  test('takes no packets through its tunnel from a machine that is no node', async () => {
    const { linux, namespace } = neighbour
    using theirs = machine.linux.openRtnetlink(machine.namespace)
    const { hardwareAddress = '' } = theirs.link('sampan.1')!
    using own = linux.openRtnetlink(namespace)
    const vxlan = {
      id: 1,
      port: 8472,
      local: street.neighbourAddress,
      device: own.link('eth0')!.index,
      learning: false,
    }
    const { index: link } = own.addLink({ kind: 'vxlan', name: 'tunnel', up: true, vxlan })
    own.replaceForwardingEntry({ link, hardwareAddress, destination: street.address })
    own.replaceNeighbour({ link, address: '10.244.0.0', hardwareAddress })
    own.replaceRoute({ destination: `${podIP}/32`, gateway: '10.244.0.0', link, onlink: true })
    expect(await reached(neighbour, { pod: closed.pod! })).toEqual([])
  })

  test('leaves no rule behind', async () => {
    await machine.down()
    using nftables = machine.linux.openNftables(machine.namespace)
    expect(nftables.tables()).toEqual([])
  })
})
