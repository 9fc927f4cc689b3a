/** A whole cluster in each of the other proxy modes: names, Services, node ports and affinity. */
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

const services = [
  service('who', { type: 'NodePort', ports: [{ port: 80, targetPort: PORT, nodePort: NODE_PORT }] }),
  service('sticky', { sessionAffinity: 'ClientIP' }),
]

describe.each(['iptables', 'userspace'])('%s', (mode) => {
  asRoot('a cluster', () => {
    let machine: Machine
    beforeAll(async () => {
      machine = new Machine()
      await machine.up('--nodes', '2', '--proxy-mode', mode)
      await machine.apply(deployment, ...services)
      await machine.kubectl('rollout', 'status', 'deployment/who', '--timeout=90s')
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
      const rules =
        mode === 'iptables'
          ? await machine.onNode('node-1', 'iptables-save')
          : await machine.onNode('node-1', 'nft', 'list', 'ruleset')
      expect(rules).toContain(mode === 'iptables' ? '"default/who cluster IP"' : 'sampan-userspace')
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

    test('session affinity stays with one pod', async () => {
      const ip = await clusterIP('sticky')
      expect(await answering(() => machine.onNode('node-1', ...curl(`http://${ip}`)), 12)).toHaveLength(1)
    })

    test('names are resolved through the Service of DNS', async () => {
      const ip = await clusterIP('who')
      const script = `const r = new (require('node:dns').promises.Resolver)(); r.setServers(['10.96.0.10']); r.resolve4('who.default.svc.cluster.local').then(console.log)`
      for (const node of ['node-1', 'node-2']) {
        expect(await machine.onNode(node, process.execPath, '-e', script)).toContain(ip)
      }
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
