/** What a person who looks at a node sees of the hostnames example: one Service, three pods. */
import { execFileSync } from 'node:child_process'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { placementOf } from '../../src/service-proxy/packet-flow-objects.contract.ts'
import { ServiceTable } from '../../src/service-proxy/service-table.ts'
import { asRoot } from '../linux/as-root.ts'
import { type FlowNetwork, startFlowNetwork } from './flow-network.ts'
import { openBackend } from './flow-outcomes.ts'
import { FILTER, NAT, NFTABLES, NFTABLES_CHAINS, NFTABLES_MAPS } from './hostnames-rules.ts'
import { modeOf, type ProxyVariant } from './proxy-variants.ts'

const PODS = ['10.244.0.5', '10.244.0.6', '10.244.1.5']

function hostnames(): ServiceTable {
  const table = new ServiceTable({ name: 'here' })
  table.serviceChanged(undefined, {
    metadata: { namespace: 'default', name: 'hostnames' },
    spec: {
      ...{ type: 'NodePort', clusterIP: '10.96.174.42', clusterIPs: ['10.96.174.42'], ipFamilies: ['IPv4'] },
      ports: [{ port: 80, targetPort: 9376, nodePort: 30_080, protocol: 'TCP' }],
    },
  })
  table.endpointSliceChanged(undefined, {
    metadata: { namespace: 'default', name: 'hostnames-1', labels: { 'kubernetes.io/service-name': 'hostnames' } },
    addressType: 'IPv4',
    ports: [{ name: '', port: 9376, protocol: 'TCP' }],
    endpoints: PODS.map((ip) => ({ addresses: [ip], conditions: { ready: true } })),
  })
  table.update()
  return table
}

asRoot('rules as printed', () => {
  let network: FlowNetwork
  beforeAll(async () => {
    network = await startFlowNetwork()
  })
  afterAll(() => network?.[Symbol.asyncDispose]())

  async function printed(variant: ProxyVariant, ...command: string[]): Promise<string> {
    const { mode, backends } = modeOf(variant)
    const scenario = { name: '', services: [], flows: [] }
    const backend = openBackend(network.nodes[0]!, backends[mode]!, scenario, placementOf('IPv4'))
    try {
      await backend.apply(hostnames(), 'all')
      const inNode = [`--net=/run/netns/${network.node.namespace.name}`, ...command]
      return execFileSync('nsenter', inNode, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] })
    } finally {
      await backend.cleanup()
      await backend[Symbol.asyncDispose]()
    }
  }

  /** A table's rules, in the order of its chains. */
  const rulesOf = (saved: string, table: string) => {
    const part = saved.slice(saved.indexOf(`*${table}\n`))
    const lines = part.slice(0, part.indexOf('COMMIT')).split('\n')
    return lines.flatMap((line) => (line.startsWith('-A ') ? [line.trim()] : []))
  }

  test.each(['iptables-nft', 'iptables-legacy'] as const)('%s-save', async (variant) => {
    const saved = await printed(variant, `${variant}-save`)
    expect(rulesOf(saved, 'nat')).toEqual(NAT)
    expect(rulesOf(saved, 'filter')).toEqual(FILTER)
    expect(rulesOf(saved, 'mangle')).toEqual([])
  })

  test('nft list ruleset', async () => {
    const text = await printed('nftables', 'nft', 'list', 'ruleset')
    for (const block of NFTABLES) expect(text).toContain(block)
    const names = (kind: string) => [...text.matchAll(new RegExp(`^\\t${kind} (\\S+) {`, 'gm'))].map(([, name]) => name)
    expect(names('chain')).toEqual(NFTABLES_CHAINS)
    expect(names('map')).toEqual(NFTABLES_MAPS)
  })
})
