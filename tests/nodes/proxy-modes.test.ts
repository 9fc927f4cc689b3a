/** A whole cluster in each proxy mode, as programs of others see it: curl, dig, dnsperf, iperf3, nft, iptables-save. */
import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { asRoot } from '../linux/as-root.ts'
import { eventually, Machine } from '../tools/machine.ts'

const PORT = 8080
const NODE_PORT = 30_081
const labels = { app: 'who' }
const PROGRAM = `require('node:http').createServer((q, a) => a.end(process.env.POD + '\\n')).listen(${PORT})`

const deployment = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'who' },
  spec: {
    replicas: 2,
    selector: { matchLabels: labels },
    template: {
      metadata: { labels },
      spec: {
        terminationGracePeriodSeconds: 1,
        containers: [
          {
            name: 'who',
            image: 'sampan.local/host',
            command: ['node', '-e', PROGRAM],
            env: [{ name: 'POD', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } }],
            readinessProbe: { tcpSocket: { port: PORT }, periodSeconds: 1 },
          },
        ],
      },
    },
  },
}

const service = (name: string, spec: object) => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name },
  spec: { selector: labels, ports: [{ port: 80, targetPort: PORT }], ...spec },
})

/** A server for iperf3 needs TCP and UDP at one port. */
const iperfLabels = { app: 'iperf' }
const iperf = [
  {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'iperf', labels: iperfLabels },
    spec: {
      terminationGracePeriodSeconds: 1,
      containers: [
        {
          name: 'iperf',
          image: 'sampan.local/host',
          command: ['iperf3', '--server'],
          readinessProbe: { tcpSocket: { port: 5201 }, periodSeconds: 1 },
        },
      ],
    },
  },
  service('iperf', {
    selector: iperfLabels,
    ports: ['TCP', 'UDP'].map((protocol) => ({ name: protocol.toLowerCase(), protocol, port: 5201 })),
  }),
]

/** Not on the node that the machine's routes lead to. */
const far = [
  {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'far', labels: { app: 'far' } },
    spec: { ...deployment.spec.template.spec, nodeName: 'node-2' },
  },
  service('far', { selector: { app: 'far' }, type: 'LoadBalancer', externalTrafficPolicy: 'Local' }),
]

/** What shows that the mode is in force, and where. */
const RULES: Readonly<Record<string, readonly [command: readonly [string, ...string[]], expected: string]>> = {
  nftables: [['nft', 'list', 'ruleset'], 'default/who'],
  iptables: [['iptables-save'], '"default/who cluster IP"'],
  userspace: [['nft', 'list', 'ruleset'], 'sampan-userspace'],
}

const services = [
  service('who', { type: 'NodePort', ports: [{ port: 80, targetPort: PORT, nodePort: NODE_PORT }] }),
  service('sticky', { sessionAffinity: 'ClientIP' }),
]

describe.each(['nftables', 'iptables', 'userspace'])('%s', (mode) => {
  asRoot('a cluster', () => {
    let machine: Machine
    beforeAll(async () => {
      machine = new Machine()
      await machine.up('--nodes', '2', '--proxy-mode', mode)
      await machine.apply(deployment, ...services, ...iperf, ...far)
      await machine.kubectl('rollout', 'status', 'deployment/who', '--timeout=90s')
      await machine.kubectl('wait', '--for=condition=Ready', 'pod/iperf', 'pod/far', '--timeout=60s')
    }, 150_000)
    afterAll(() => machine?.[Symbol.asyncDispose](), 120_000)

    const clusterIP = (name: string) => machine.kubectl('get', 'service', name, '-o', 'jsonpath={.spec.clusterIP}')
    const curl = (url: string) => ['curl', '-s', '-m', '5', url] as const
    const pods = async () => {
      const names = await machine.kubectl('get', 'pods', '-l', 'app=who', '-o', 'jsonpath={.items[*].metadata.name}')
      return names.split(' ').sort()
    }
    const answering = async (ask: () => Promise<string>, count = 24) => {
      const answers = new Set<string>()
      for (let i = 0; i < count; i++) answers.add((await ask()).trim())
      return [...answers].sort()
    }

    test('the rules are those of the mode', async () => {
      const [command, expected] = RULES[mode]!
      expect(await machine.onNode('node-1', ...command)).toContain(expected)
    })

    test.each(['node-1', 'node-2'])('%s reaches all pods by cluster IP', async (node) => {
      const ip = await clusterIP('who')
      expect(await answering(() => machine.onNode(node, ...curl(`http://${ip}`)))).toEqual(await pods())
    })

    test('a node port answers on every node, from outside', async () => {
      for (const address of ['172.30.0.2', '172.30.0.3']) {
        expect(await answering(() => machine.must(...curl(`http://${address}:${NODE_PORT}`)))).toEqual(await pods())
      }
    })

    test('the API server reaches pods of every node', async () => {
      for (const pod of [...(await pods()), 'far']) {
        expect(await machine.kubectl('get', '--raw', `/api/v1/namespaces/default/pods/${pod}:${PORT}/proxy/`)).toBe(
          `${pod}\n`,
        )
      }
    })

    test('a load balancer with a Local policy is reached from outside where its pods are', async () => {
      const ip = await eventually(
        () => machine.kubectl('get', 'service', 'far', '-o', 'jsonpath={.status.loadBalancer.ingress[0].ip}'),
        (found) => found !== '',
      )
      const ask = () => machine.must(...curl(`http://${ip}`)).catch(() => '')
      expect(await eventually(ask, (answer) => answer !== '')).toBe('far\n')
    })

    test('session affinity stays with one pod', async () => {
      const ip = await clusterIP('sticky')
      expect(await answering(() => machine.onNode('node-1', ...curl(`http://${ip}`)), 12)).toHaveLength(1)
    })

    test.each(['node-1', 'node-2'])('dig and dnsperf on %s are answered through the Service of DNS', async (node) => {
      const dig = (...question: string[]) => machine.onNode(node, 'dig', '+short', '@10.96.0.10', ...question)
      expect(await dig('who.default.svc.cluster.local')).toBe(`${await clusterIP('who')}\n`)
      expect(await dig('SRV', '_https._tcp.kubernetes.default.svc.cluster.local')).toBe(
        '0 100 443 kubernetes.default.svc.cluster.local.\n',
      )
      const questions = path.join(machine.dataDir, 'questions')
      writeFileSync(questions, 'who.default.svc.cluster.local A\nmissing.default.svc.cluster.local A\n')
      const report = await machine.onNode(node, 'dnsperf', '-s', '10.96.0.10', '-d', questions, '-n', '500')
      expect(report).toMatch(/Queries completed: +1000 /)
      expect(report).toMatch(/NOERROR 500 .*NXDOMAIN 500 /)
    })

    test.each([
      ['to the pod', [], 'sum_received'],
      ['from the pod', ['--reverse'], 'sum_received'],
      ['by UDP', ['--udp', '--bitrate', '5M'], 'sum'],
    ])('iperf3 measures through a Service: %s', async (_, options, sum) => {
      const ip = await clusterIP('iperf')
      const report = await machine.onNode('node-2', 'iperf3', '-c', ip, '--time', '1', '--json', ...options)
      const { end } = JSON.parse(report) as { end: Record<string, { bytes: number; lost_percent?: number }> }
      expect(end[sum]!.bytes).toBeGreaterThan(100_000)
      expect(end[sum]!.lost_percent ?? 0).toBeLessThan(10)
    })

    test('a pod that goes is left out at once', async () => {
      const ip = await clusterIP('who')
      const [gone] = await pods()
      await machine.kubectl('delete', 'pod', gone!, '--wait=true')
      await machine.kubectl('rollout', 'status', 'deployment/who', '--timeout=90s')
      const found = await eventually(
        () => answering(() => machine.onNode('node-1', ...curl(`http://${ip}`)), 8),
        (names) => names.length === 2 && !names.includes(gone!) && !names.includes(''),
      )
      expect(found).toEqual(await pods())
    })
  })
})
