/** Two machines, each a network namespace with an address on one Ethernet: a cluster on the first, a node on the second. */
import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { asRoot } from '../linux/as-root.ts'
import { eventually, Machine } from '../tools/machine.ts'
import { MachineNetwork } from '../tools/machine-network.ts'

const PORT = 8080
const PROGRAM = `require('node:http').createServer((q, a) => { console.log('asked'); a.end(process.env.NODE + ' ' + q.socket.remoteAddress.replace('::ffff:', '') + '\\n') }).listen(${PORT}); process.on('SIGTERM', () => process.exit())`
const template = (app: string) => ({
  metadata: { labels: { app } },
  spec: {
    terminationGracePeriodSeconds: 1,
    containers: [
      {
        name: 'where',
        image: 'sampan.local/host',
        command: ['node', '-e', PROGRAM],
        env: [{ name: 'NODE', valueFrom: { fieldRef: { fieldPath: 'spec.nodeName' } } }],
        readinessProbe: { tcpSocket: { port: PORT }, periodSeconds: 1 },
      },
    ],
  },
})
const daemons = {
  apiVersion: 'apps/v1',
  kind: 'DaemonSet',
  metadata: { name: 'where' },
  spec: { selector: { matchLabels: { app: 'where' } }, template: template('where') },
}
const service = {
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name: 'everywhere' },
  spec: { selector: { app: 'where' }, ports: [{ port: 80, targetPort: PORT }] },
}
/** At first on the machine that joined. */
const movable = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'movable' },
  spec: {
    selector: { matchLabels: { app: 'movable' } },
    template: {
      ...template('movable'),
      spec: {
        ...template('movable').spec,
        affinity: {
          nodeAffinity: {
            preferredDuringSchedulingIgnoredDuringExecution: [
              {
                weight: 100,
                preference: { matchExpressions: [{ key: 'kubernetes.io/hostname', operator: 'In', values: ['two'] }] },
              },
            ],
          },
        },
      },
    },
  },
}

/** Asks from inside a pod: what each of some requests was answered. */
const ASK = `const [, url, count] = process.argv; const http = require('node:http');
const ask = () => new Promise((r) => http.get(url, { agent: false, timeout: 3000 }, (a) => a.on('data', (d) => r(String(d).trim()))).on('error', (e) => r(e.message)));
(async () => { for (let i = 0; i < count; i++) console.log(await ask()) })()`

/** Both machines, and what is asked of pods on them. */
class TwoMachines implements AsyncDisposable {
  readonly network = new MachineNetwork()
  readonly first = new Machine()
  readonly second = new Machine()
  readonly address = this.network.connect(this.first)
  readonly secondAddress = this.network.connect(this.second)

  /** Starts the cluster; returns what to join it with. */
  async up(...args: readonly string[]): Promise<string[]> {
    await this.first.up('--listen', this.address, '--node-name', 'one', ...args)
    const printed = await this.first.sampan('token', 'create', '--print-join-command')
    return printed.stdout.trim().split(' ').slice(2)
  }

  podOn(node: string, app = 'where'): Promise<string> {
    const onNode = `spec.nodeName=${node}`
    return this.first.kubectl('get', 'pods', '-l', `app=${app}`, '--field-selector', onNode, '-o', 'name')
  }

  async inPod(node: string, ...command: readonly string[]): Promise<string> {
    return this.first.kubectl('exec', (await this.podOn(node)).trim(), '--', ...command)
  }

  async ask(node: string, url: string, count = 1): Promise<string[]> {
    return (await this.inPod(node, 'node', '-e', ASK, url, String(count))).trim().split('\n')
  }

  async podIP(node: string): Promise<string> {
    return this.first.kubectl('get', (await this.podOn(node)).trim(), '-o', 'jsonpath={.status.podIP}')
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.second[Symbol.asyncDispose]()
    await this.first[Symbol.asyncDispose]()
    this.network[Symbol.dispose]()
  }
}

const linksOf = async (machine: Machine) =>
  (await machine.must('ip', '-br', 'link'))
    .trim()
    .split('\n')
    .map((line) => line.split(/[ @]/)[0])

asRoot('a machine that joins', () => {
  let machines: TwoMachines
  let joinCommand: string[]
  beforeAll(async () => {
    machines = new TwoMachines()
    joinCommand = await machines.up()
  }, 120_000)
  afterAll(() => machines?.[Symbol.asyncDispose](), 120_000)

  test('says what is wrong, and leaves nothing', async () => {
    const { second, address } = machines
    const server = `https://${address}:6443`
    const good = joinCommand[2]!
    const other = (token: string, ...more: string[]) => [server, '--token', token, ...more]
    const known = ['--discovery-token-ca-cert-hash', joinCommand[4]!]
    for (const [args, message, code] of [
      [other(good, '--discovery-token-ca-cert-hash', `sha256:${'0'.repeat(64)}`), 'not the one that was named', 1],
      [[`https://${address}:1`, '--token', good, ...known], 'cannot be reached', 1],
      [[...joinCommand, '--node-name', 'one'], 'has a node one already', 1],
      [[...joinCommand, '--node-ip', '10.77.0.99'], 'no address of this machine', 1],
      [other(good), '--discovery-token-ca-cert-hash', 2],
      [other('secret', ...known), 'a token looks like', 2],
    ] as const) {
      const ran = await second.join(...args)
      expect([ran.stderr, ran.code]).toEqual([expect.stringContaining(message), code])
    }
    expect(existsSync(second.dataDir)).toBe(false)
    expect(await linksOf(second)).toEqual(['lo', 'eth0'])
  }, 60_000)

  test('becomes a node', async () => {
    const { first, second, address, secondAddress } = machines
    const ran = await second.join(...joinCommand, '--node-name', 'two')
    expect([ran.code, ran.stderr]).toEqual([0, ''])
    expect(ran.stdout).toContain(`node two of https://${address}:6443`)
    const nodes = await first.kubectl(
      'get',
      'nodes',
      '-o',
      'custom-columns=:metadata.name,:status.addresses[0].address',
    )
    expect(
      nodes
        .trim()
        .split('\n')
        .map((line) => line.split(/\s+/)),
    ).toEqual([
      ['one', address],
      ['two', secondAddress],
    ])
    await first.apply(daemons, service, movable)
    await first.kubectl('rollout', 'status', 'daemonset/where', '--timeout=60s')
    await first.kubectl('rollout', 'status', 'deployment/movable', '--timeout=60s')
  }, 150_000)

  test('pods of both machines reach each other with their own addresses', async () => {
    for (const [from, to] of [
      ['one', 'two'],
      ['two', 'one'],
    ] as const) {
      const [own, ip] = [await machines.podIP(from), await machines.podIP(to)]
      expect(await machines.ask(from, `http://${ip}:${PORT}`)).toEqual([`${to} ${own}`])
    }
  })

  test.each(['one', 'two'])('a Service leads %s to both, by its name', async (node) => {
    const answers = await machines.ask(node, 'http://everywhere.default.svc.cluster.local', 16)
    expect([...new Set(answers.map((line) => line.split(' ')[0]))].sort()).toEqual(['one', 'two'])
  })

  test('logs and exec reach the machine that joined', async () => {
    const { first } = machines
    expect(await first.kubectl('logs', (await machines.podOn('two')).trim())).toContain('asked')
    expect((await machines.inPod('two', 'node', '-p', 'process.env.NODE')).trim()).toBe('two')
    // A volume of the API server's data came to it too.
    expect(await machines.inPod('two', 'cat', '/var/run/secrets/kubernetes.io/serviceaccount/namespace')).toBe(
      'default',
    )
  })

  test('a second start finds the first', async () => {
    const { second } = machines
    const ran = await second.join()
    expect([ran.code, ran.stdout]).toEqual([0, expect.stringContaining('already')])
    expect((await second.sampan('status')).stdout).toContain('Node two')
    expect((await second.sampan('up')).stderr).toContain('belongs to a node of another cluster')
    const elsewhere = await second.sampan('get', 'pods')
    expect([elsewhere.code, elsewhere.stderr]).toEqual([1, expect.stringContaining('only node two')])
  })

  test('pods outlive its processes, and the next start needs no token', async () => {
    const { first, second } = machines
    const pod = (await machines.podOn('two')).trim()
    const state = () => first.kubectl('get', pod, '-o', 'jsonpath={.status.containerStatuses[0].containerID}')
    const before = await state()
    for (const file of ['server.json', 'nodes/two/node.json']) {
      const { pid } = JSON.parse(readFileSync(path.join(second.dataDir, file), 'utf8')) as { pid: number }
      process.kill(pid, 'SIGKILL')
    }
    expect((await machines.ask('one', 'http://everywhere', 16)).some((line) => line.startsWith('two'))).toBe(true)
    const ran = await second.join()
    expect([ran.code, ran.stderr]).toEqual([0, ''])
    await eventually(
      () => machines.inPod('two', 'node', '-p', 'process.env.NODE'),
      (answer) => answer.trim() === 'two',
    )
    expect(await state()).toBe(before)
  }, 60_000)

  test('leaves, and nothing of it stays on the machine', async () => {
    const { first, second } = machines
    await first.kubectl('drain', 'two', '--ignore-daemonsets', '--timeout=60s')
    await first.kubectl('rollout', 'status', 'deployment/movable', '--timeout=60s')
    expect(await machines.podOn('one', 'movable')).not.toBe('')
    expect(await second.down('--delete')).toContain('kubectl delete node two')
    expect(await linksOf(second)).toEqual(['lo', 'eth0'])
    expect(await second.must('ip', 'route')).not.toContain('10.244')
    expect((await second.must('nft', 'list', 'ruleset')).trim()).toBe('')
    expect(await second.must('mount')).not.toContain(second.dataDir)
    expect(existsSync(second.dataDir)).toBe(false)
    await first.kubectl('delete', 'node', 'two')
    expect(await first.kubectl('get', 'nodes', '-o', 'name')).toBe('node/one\n')
  }, 120_000)

  test('a token that was deleted lets nobody in', async () => {
    const { first, second } = machines
    expect((await first.sampan('token', 'list')).stdout).toContain(joinCommand[2])
    expect((await first.sampan('token', 'delete', joinCommand[2]!)).code).toBe(0)
    const ran = await second.join(...joinCommand, '--node-name', 'two')
    expect([ran.code, ran.stderr]).toEqual([1, expect.stringContaining('expired, or was deleted')])
    expect(existsSync(second.dataDir)).toBe(false)
  }, 30_000)

  test('the first machine leaves nothing either', async () => {
    const { first } = machines
    const log = readFileSync(path.join(first.dataDir, 'nodes/one/node.log'), 'utf8')
    // Rules for Services came into effect while the node spoke with the API server at an address of its own.
    expect(log).not.toContain('cannot be reached')
    await first.down()
    expect(await linksOf(first)).toEqual(['lo', 'eth0'])
    expect((await first.must('nft', 'list', 'ruleset')).trim()).toBe('')
  }, 60_000)
})

asRoot('a machine that joins by host-gw, with iptables and containerd', () => {
  let machines: TwoMachines
  beforeAll(async () => {
    machines = new TwoMachines()
    const joinCommand = await machines.up('--network', 'host-gw')
    const choices = ['--node-name', 'two', '--proxy-mode', 'iptables', '--runtime', 'containerd']
    const ran = await machines.second.join(...joinCommand, ...choices)
    expect([ran.code, ran.stderr]).toEqual([0, ''])
    const balanced = { ...service, metadata: { name: 'balanced' }, spec: { ...service.spec, type: 'LoadBalancer' } }
    await machines.first.apply(daemons, service, balanced)
    await machines.first.kubectl('rollout', 'status', 'daemonset/where', '--timeout=60s')
  }, 150_000)
  afterAll(() => machines?.[Symbol.asyncDispose](), 120_000)

  test('pods and Services reach the other machine', async () => {
    expect(await machines.second.must('ip', 'route')).toContain(`via ${machines.address} dev eth0`)
    expect(await machines.second.must('iptables-save', '-t', 'nat')).toContain('KUBE-SVC')
    const [one, two] = [await machines.podIP('one'), await machines.podIP('two')]
    expect(await machines.ask('two', `http://${one}:${PORT}`)).toEqual([`one ${two}`])
    const answers = await machines.ask('two', 'http://everywhere', 16)
    expect([...new Set(answers.map((line) => line.split(' ')[0]))].sort()).toEqual(['one', 'two'])
  }, 30_000)

  test('node ports and load balancers answer on each machine', async () => {
    const { first, second, address, secondAddress } = machines
    const path = 'jsonpath={.status.loadBalancer.ingress[0].ip} {.spec.ports[0].nodePort}'
    const [ip, nodePort] = (await first.kubectl('get', 'service', 'balanced', '-o', path)).split(' ')
    for (const machine of [first, second]) {
      for (const host of [ip, `${address}:${nodePort}`, `${secondAddress}:${nodePort}`])
        expect(await machine.must('curl', '-s', '-m', '5', `http://${host}`)).toMatch(/^(one|two) /)
    }
  }, 30_000)

  test('a machine whose processes were killed is clear after down', async () => {
    const { second } = machines
    for (const file of ['server.json', 'nodes/two/node.json']) {
      const { pid } = JSON.parse(readFileSync(path.join(second.dataDir, file), 'utf8')) as { pid: number }
      process.kill(pid, 'SIGKILL')
    }
    await second.down()
    expect(await linksOf(second)).toEqual(['lo', 'eth0'])
    expect(await second.must('ip', 'route')).not.toContain('10.244')
    expect(await second.must('iptables-save')).not.toContain('KUBE')
    expect(await second.must('mount')).not.toContain(second.dataDir)
  }, 60_000)
})
