/** Two nodes on one machine, joined as two machines would be: every way from anywhere to a Service, by real packets. */
import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { asRoot } from '../linux/as-root.ts'
import { startLoad } from '../tools/http-load.ts'
import { eventually, Machine } from '../tools/machine.ts'

const PORT = 8080
const NODE_PORT = 30_080
const labels = { app: 'where' }
const PROGRAM = `require('node:http').createServer((q, a) => a.end(process.env.NODE + ' ' + q.socket.remoteAddress.replace('::ffff:', '') + '\\n')).listen(${PORT})`

/** One pod per node that says on which node it is and who asked. */
const daemons = {
  apiVersion: 'apps/v1',
  kind: 'DaemonSet',
  metadata: { name: 'where' },
  spec: {
    selector: { matchLabels: labels },
    template: {
      metadata: { labels },
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
    },
  },
}

/** Told to end, it goes on for a while and asks its clients to leave, as a good server does. */
const PATIENT = `
  let isEnding = false
  const server = require('node:http').createServer((q, a) => {
    if (isEnding) a.setHeader('connection', 'close')
    a.end(process.env.HOSTNAME)
  }).listen(${PORT})
  server.keepAliveTimeout = 0
  process.on('SIGTERM', () => { isEnding = true; setTimeout(() => server.close(() => process.exit(0)), 2000) })`
const rolling = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'rolling' },
  spec: {
    replicas: 3,
    strategy: { rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } },
    selector: { matchLabels: { app: 'rolling' } },
    template: {
      metadata: { labels: { app: 'rolling' } },
      spec: {
        terminationGracePeriodSeconds: 10,
        containers: [
          {
            name: 'main',
            image: 'sampan.local/host',
            command: ['node', '-e', PATIENT],
            readinessProbe: { tcpSocket: { port: PORT }, periodSeconds: 1 },
          },
        ],
      },
    },
  },
}

/** One pod per node that does nothing. */
const agents = {
  apiVersion: 'apps/v1',
  kind: 'DaemonSet',
  metadata: { name: 'agent' },
  spec: {
    selector: { matchLabels: { app: 'agent' } },
    template: {
      metadata: { labels: { app: 'agent' } },
      spec: {
        terminationGracePeriodSeconds: 0,
        containers: [
          { name: 'main', image: 'sampan.local/host', imagePullPolicy: 'IfNotPresent', command: ['sleep', '1000'] },
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

const services = [
  service('everywhere', {}),
  service('here', { internalTrafficPolicy: 'Local' }),
  service('nearby', { trafficDistribution: 'PreferSameNode' }),
  service('outside', { type: 'NodePort', ports: [{ port: 80, targetPort: PORT, nodePort: NODE_PORT }] }),
  service('balanced', { type: 'LoadBalancer' }),
  service('sticky', { sessionAffinity: 'ClientIP' }),
  service('rolling', { selector: { app: 'rolling' } }),
]

interface NodeFacts {
  readonly metadata: { readonly name: string }
  readonly spec: { readonly taints?: unknown; readonly unschedulable?: boolean }
  readonly status: { readonly conditions: readonly object[] }
}
const IS_READY = expect.objectContaining({ type: 'Ready', status: 'True' })

describe.each(['host-gw', 'vxlan'])('%s', (network) => {
  asRoot('two nodes', () => {
    let machine: Machine
    beforeAll(async () => {
      machine = new Machine()
      await machine.up('--nodes', '2', '--network', network)
      await machine.apply(daemons, rolling, ...services)
      for (const name of ['daemonset/where', 'deployment/rolling'])
        await machine.kubectl('rollout', 'status', name, '--timeout=90s')
    }, 150_000)
    afterAll(() => machine?.[Symbol.asyncDispose](), 120_000)

    const clusterIP = (name: string) => machine.kubectl('get', 'service', name, '-o', 'jsonpath={.spec.clusterIP}')
    const curl = (url: string) => ['curl', '-s', '-m', '5', url] as const
    const nodesAnswering = async (ask: () => Promise<string>, count = 24) => {
      const answers = new Set<string>()
      for (let i = 0; i < count; i++) answers.add((await ask()).split(' ')[0]!)
      return [...answers].sort()
    }

    test('both nodes are ready and take any pod', async () => {
      const nodes = JSON.parse(await machine.kubectl('get', 'nodes', '-o', 'json')) as { items: NodeFacts[] }
      expect(nodes.items.map(({ metadata, spec }) => [metadata.name, spec.taints ?? [], spec.unschedulable])).toEqual([
        ['node-1', [], undefined],
        ['node-2', [], undefined],
      ])
      for (const { status } of nodes.items) expect(status.conditions).toContainEqual(IS_READY)
    })

    test('a DaemonSet rolls back without touching pods that were not changed', async () => {
      const pods = async () => {
        const list = JSON.parse(await machine.kubectl('get', 'pods', '-l', 'app=agent', '-o', 'json'))
        const items = list.items as { metadata: { uid: string }; spec: { containers: { image: string }[] } }[]
        return new Map(items.map(({ metadata, spec }) => [metadata.uid, spec.containers[0]!.image]))
      }
      await machine.apply(agents)
      await machine.kubectl('rollout', 'status', 'daemonset/agent', '--timeout=60s')
      const before = await pods()
      await machine.kubectl('set', 'image', 'daemonset/agent', 'main=127.0.0.1:9/missing')
      const during = await eventually(pods, (now) => [...now.values()].includes('127.0.0.1:9/missing'))
      const untouched = [...during.keys()].filter((uid) => before.has(uid))
      expect(untouched).toHaveLength(1)
      await machine.kubectl('rollout', 'undo', 'daemonset/agent')
      await machine.kubectl('rollout', 'status', 'daemonset/agent', '--timeout=60s')
      const after = await pods()
      expect([...after.values()]).toEqual(['sampan.local/host', 'sampan.local/host'])
      expect([...after.keys()].filter((uid) => before.has(uid))).toEqual(untouched)
      await machine.kubectl('delete', 'daemonset', 'agent')
    })

    test('a pod reaches a pod of the other node with its own address', async () => {
      const ips = (
        await machine.kubectl('get', 'pods', '-l', 'app=where', '-o', 'jsonpath={.items[*].status.podIP}')
      ).split(' ')
      expect(new Set(ips).size).toBe(2)
      for (const ip of ips) {
        for (const node of ['node-1', 'node-2'])
          expect(await machine.onNode(node, ...curl(`http://${ip}:${PORT}`))).toMatch(/^node-/)
      }
    })

    test.each(['node-1', 'node-2'])('a Service leads %s to the pods of both nodes', async (node) => {
      const ip = await clusterIP('everywhere')
      expect(await nodesAnswering(() => machine.onNode(node, ...curl(`http://${ip}`)))).toEqual(['node-1', 'node-2'])
    })

    test.each(['node-1', 'node-2'])('internalTrafficPolicy Local keeps %s to itself', async (node) => {
      const ip = await clusterIP('here')
      expect(await nodesAnswering(() => machine.onNode(node, ...curl(`http://${ip}`)), 8)).toEqual([node])
    })

    test.each(['node-1', 'node-2'])('trafficDistribution PreferSameNode keeps %s to itself', async (node) => {
      const ip = await clusterIP('nearby')
      // Hints come with the slices, which follow the pods.
      const answers = () => nodesAnswering(() => machine.onNode(node, ...curl(`http://${ip}`)), 8)
      await eventually(answers, (nodes) => String(nodes) === node)
    })

    test('a node port answers on every node, from outside', async () => {
      for (const address of ['172.30.0.2', '172.30.0.3']) {
        const ask = () => machine.must(...curl(`http://${address}:${NODE_PORT}`))
        expect(await nodesAnswering(ask)).toEqual(['node-1', 'node-2'])
      }
    })

    test('a load balancer has an address that works from outside', async () => {
      const path = 'jsonpath={.status.loadBalancer.ingress[0].ip}'
      const ip = await eventually(
        () => machine.kubectl('get', 'service', 'balanced', '-o', path),
        (found) => found !== '',
      )
      expect(await nodesAnswering(() => machine.must(...curl(`http://${ip}`)))).toEqual(['node-1', 'node-2'])
    })

    test('session affinity stays with one pod', async () => {
      const ip = await clusterIP('sticky')
      expect(await nodesAnswering(() => machine.onNode('node-1', ...curl(`http://${ip}`)), 12)).toHaveLength(1)
    })

    test('a rolling update drops no request', async () => {
      const url = `http://${await clusterIP('rolling')}`
      await using load = startLoad(machine, 'node-1', url)
      await machine.kubectl('rollout', 'restart', 'deployment/rolling')
      await machine.kubectl('rollout', 'status', 'deployment/rolling', '--timeout=90s')
      const { fresh, kept, servers, failures } = await load.end()
      expect(failures).toEqual([])
      expect(Math.min(fresh, kept)).toBeGreaterThan(0)
      expect(Object.keys(servers).length).toBeGreaterThan(3)
    })

    const lookup = (node: string) => {
      const script = `const r = new (require('node:dns').promises.Resolver)({ timeout: 1000, tries: 2 }); r.setServers(['10.96.0.10']); r.resolve4('everywhere.default.svc.cluster.local').then(console.log, (e) => console.log(e.code))`
      return machine.onNode(node, process.execPath, '-e', script)
    }

    test('each node has DNS', async () => {
      const ip = await clusterIP('everywhere')
      for (const node of ['node-1', 'node-2']) {
        expect(await lookup(node)).toContain(ip)
      }
    })

    test('a node whose process is killed is still reached, and its DNS comes back', async () => {
      const ip = await clusterIP('everywhere')
      const pidOf = () =>
        (JSON.parse(readFileSync(`${machine.dataDir}/nodes/node-2/node.json`, 'utf8')) as { pid: number }).pid
      const killed = pidOf()
      process.kill(killed, 'SIGKILL')
      for (const node of ['node-1', 'node-2'])
        expect(await nodesAnswering(() => machine.onNode(node, ...curl(`http://${ip}`)))).toEqual(['node-1', 'node-2'])
      expect(await lookup('node-1')).toContain(ip)
      await eventually(
        () => lookup('node-2'),
        (answer) => answer.includes(ip),
      )
      expect(pidOf()).not.toBe(killed)
    })

    test('a node that is cut off serves its own pods, and is reached again when it is back', async () => {
      const [everywhere, here] = [await clusterIP('everywhere'), await clusterIP('here')]
      const cable = `sp${machine.id.slice(0, 6)}-2`
      await machine.must('ip', 'link', 'set', cable, 'down')
      try {
        // Neither the API server nor the other node is there.
        expect(await nodesAnswering(() => machine.onNode('node-2', ...curl(`http://${here}`)), 4)).toEqual(['node-2'])
        expect(await lookup('node-2')).toContain(everywhere)
        expect(await nodesAnswering(() => machine.onNode('node-1', ...curl(`http://${here}`)), 4)).toEqual(['node-1'])
        if (network === 'host-gw') await untilOnly('node-1', everywhere)
      } finally {
        await machine.must('ip', 'link', 'set', cable, 'up')
      }
      await machine.kubectl('wait', '--for=condition=Ready', 'node/node-2', '--timeout=60s')
      for (const node of ['node-1', 'node-2']) {
        const ask = () => machine.onNode(node, ...curl(`http://${everywhere}`)).catch(() => 'nobody')
        await eventually(
          () => nodesAnswering(ask),
          (names) => names.join() === 'node-1,node-2',
        )
      }
    })

    /** The control plane gives up a node after a while; from then on its pods get no traffic. */
    async function untilOnly(node: string, ip: string): Promise<void> {
      await machine.kubectl('wait', '--for=condition=Ready=Unknown', 'node/node-2', '--timeout=90s')
      const ask = () => machine.onNode(node, ...curl(`http://${ip}`)).catch(() => 'nobody')
      await eventually(
        () => nodesAnswering(ask),
        (names) => names.join() === node,
      )
    }
  })
})
