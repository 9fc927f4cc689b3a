import { describe, expect, it } from 'vitest'
import type { Pod, Service } from '../../../api/generated/core-v1.ts'
import { queryOf, shown } from '../../configuration.contract.ts'
import { emptyReply } from '../../plugin.ts'
import { RCODES } from '../../wire/constants.ts'
import type { ClusterObjects } from './cluster-objects.ts'
import { kubernetesPlugin } from './kubernetes.ts'

const web = {
  metadata: { name: 'web', namespace: 'shop' },
  spec: { clusterIP: '10.96.0.7', clusterIPs: ['10.96.0.7', 'fd00::7'], ports: [{ port: 80 }] },
} as Service
const pod = { metadata: { name: 'a', namespace: 'shop' }, status: { podIP: '10.244.0.5' } } as Pod

const objects: ClusterObjects = {
  isSynced: () => true,
  namespace: (name) => (name === 'shop' ? { metadata: { name } } : undefined),
  service: (namespace, name) => (namespace === 'shop' && name === 'web' ? web : undefined),
  servicesByAddress: (address) => (address === '10.96.0.7' ? [web] : []),
  slices: () => [],
  slicesByAddress: () => [],
  podsByAddress: (address) => (address === '10.244.0.5' ? [pod] : []),
  [Symbol.dispose]() {},
}

function plugin(options: { pods?: 'disabled' | 'insecure' | 'verified'; fallthrough?: readonly string[] } = {}) {
  const { pods = 'insecure', fallthrough } = options
  const made = kubernetesPlugin({
    ...{ objects, zones: ['cluster.local', 'in-addr.arpa'], pods, ttl: 5, fallthrough },
    ...{ ownAddresses: () => [], serial: () => 42 },
  })
  return (name: string, type: string) => {
    const query = queryOf(name, type)
    const resolve = () => emptyReply(RCODES.SERVFAIL)
    const request = { query, question: query.question, client: '', transport: 'udp', resolve } as const
    return made.answer(request, () => emptyReply(RCODES.REFUSED))
  }
}

describe('pods', () => {
  it.each([
    ['insecure', '10-244-0-5.shop.pod.cluster.local', 'NOERROR 10-244-0-5.shop.pod.cluster.local 5 A 10.244.0.5'],
    ['insecure', '10-244-0-6.shop.pod.cluster.local', 'NOERROR 10-244-0-6.shop.pod.cluster.local 5 A 10.244.0.6'],
    ['insecure', '10-244-0-5.other.pod.cluster.local', 'NXDOMAIN'],
    ['insecure', 'nonsense.shop.pod.cluster.local', 'NXDOMAIN'],
    ['verified', '10-244-0-5.shop.pod.cluster.local', 'NOERROR 10-244-0-5.shop.pod.cluster.local 5 A 10.244.0.5'],
    ['verified', '10-244-0-6.shop.pod.cluster.local', 'NXDOMAIN'],
    ['disabled', '10-244-0-5.shop.pod.cluster.local', 'NXDOMAIN'],
  ] as const)('%s: %s', async (pods, name, expected) => {
    expect(shown(await plugin({ pods })(name, 'A'))).toBe(expected)
  })
})

describe('what an answer depends on', () => {
  it.each([
    ['web.shop.svc.cluster.local', 'A', ['shop', 'shop/web']],
    ['no.shop.svc.cluster.local', 'A', ['shop', 'shop/no']],
    ['_http._tcp.web.shop.svc.cluster.local', 'SRV', ['shop', 'shop/web']],
    ['shop.svc.cluster.local', 'A', ['shop']],
    ['10-1-2-3.shop.pod.cluster.local', 'A', ['shop']],
    ['7.0.96.10.in-addr.arpa', 'PTR', ['10.96.0.7']],
    ['dns-version.cluster.local', 'TXT', []],
    ['a.b.c.d.cluster.local', 'A', []],
  ])('%s %s', async (name, type, expected) => {
    expect((await plugin()(name, type)).keep?.dependsOn).toEqual(expected)
  })

  it('cannot be said of pods that are verified', async () => {
    expect((await plugin({ pods: 'verified' })('10-1-2-3.shop.pod.cluster.local', 'A')).keep).toBeUndefined()
  })
})

describe('both families, and names that are not there', () => {
  it.each([
    ['web.shop.svc.cluster.local', 'AAAA', 'NOERROR web.shop.svc.cluster.local 5 AAAA fd00::7'],
    ['web.shop.svc.cluster.local', 'MX', 'NOERROR'],
    ['no.shop.svc.cluster.local', 'A', 'NXDOMAIN'],
    ['9.9.9.9.in-addr.arpa', 'PTR', 'NXDOMAIN'],
    ['example.org', 'A', 'REFUSED'],
  ])('%s %s', async (name, type, expected) => {
    const reply = await plugin()(name, type)
    expect(shown(reply)).toBe(expected)
    const soa = reply.authority[0]?.data
    if (reply.answers.length === 0 && reply.rcode !== RCODES.REFUSED) {
      expect(soa).toMatchObject({ type: 'SOA', mname: expect.stringContaining('ns.dns.'), serial: 42, minimum: 5 })
    } else expect(soa).toBeUndefined()
  })

  it.each([
    [['in-addr.arpa'], '9.9.9.9.in-addr.arpa', 'REFUSED'],
    [['in-addr.arpa'], 'no.shop.svc.cluster.local', 'NXDOMAIN'],
    [[''], 'no.shop.svc.cluster.local', 'REFUSED'],
  ])('fallthrough %j: %s', async (fallthrough, name, expected) => {
    expect(shown(await plugin({ fallthrough })(name, 'A'))).toBe(expected)
  })
})
