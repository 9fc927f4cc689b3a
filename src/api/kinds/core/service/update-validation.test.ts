import { describe, expect, it } from 'vitest'
import type { Service } from '../../../generated/core-v1.ts'
import { serviceKind } from './kind.ts'
import { balanced, dual, external, type Fields, headless, local, service, shown } from './service-fixture.ts'

describe('updates', () => {
  const release = (what: string) =>
    `spec.ipFamilyPolicy: Invalid value: "PreferDualStack": must be set to 'SingleStack' when releasing the secondary ${what}`
  it.each<[string, Fields, Fields, string[]]>([
    ['nothing', {}, {}, []],
    [
      'the address',
      {},
      { clusterIPs: ['10.96.0.2'] },
      ['spec.clusterIPs[0]: Invalid value: ["10.96.0.2"]: may not change once set'],
    ],
    [
      'the address away',
      {},
      { clusterIPs: undefined },
      ['spec.clusterIPs[0]: Invalid value: null: primary clusterIP can not be unset'],
    ],
    ['from headless', headless, {}, ['spec.clusterIPs[0]: Invalid value: ["10.96.0.1"]: may not change once set']],
    ['families of headless', headless, { ...headless, ipFamilies: ['IPv6'] }, []],
    [
      'the family',
      {},
      { ipFamilies: ['IPv6'] },
      ['spec.ipFamilies[0]: Invalid value: ["IPv6"]: may not change once set'],
    ],
    ['a second address more', {}, dual, []],
    [
      'a second address and another first',
      {},
      { ...dual, clusterIPs: ['10.9.9.9', 'fd00::1'] },
      ['spec.clusterIPs[0]: Invalid value: ["10.9.9.9","fd00::1"]: may not change once set'],
    ],
    ['a second address less', dual, {}, []],
    [
      'a second address less, unsaid',
      dual,
      { ipFamilyPolicy: 'PreferDualStack' },
      [release('clusterIP'), release('ipFamily')],
    ],
    ['from ExternalName', external, {}, []],
    ['to ExternalName', {}, external, []],
    [
      'the load balancer class',
      balanced,
      { ...balanced, loadBalancerClass: 'a' },
      ['spec.loadBalancerClass: Invalid value: "a": may not change once set'],
    ],
    ['to a load balancer with class', {}, { ...balanced, loadBalancerClass: 'a' }, []],
    [
      'the health check port',
      local,
      { ...local, healthCheckNodePort: 30001 },
      ['spec.healthCheckNodePort: Forbidden: field is immutable'],
    ],
  ])('%s', (_, before, after, messages) => {
    expect(shown(serviceKind.validateUpdate!(service(after), service(before)))).toEqual(messages)
  })
})

describe('status', () => {
  const point = 'status.loadBalancer.ingress[0]'
  it.each<[string, Fields, object, string[]]>([
    ['an address', balanced, { ip: '192.0.2.1', ipMode: 'VIP' }, []],
    ['a name', balanced, { hostname: 'lb.example.com' }, []],
    [
      'another type',
      {},
      { ip: '192.0.2.1', ipMode: 'VIP' },
      ["status.loadBalancer.ingress: Forbidden: may only be used when `spec.type` is 'LoadBalancer'"],
    ],
    [
      'a bad address',
      balanced,
      { ip: 'x', ipMode: 'VIP' },
      [`${point}.ip: Invalid value: "x": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)`],
    ],
    [
      'no mode',
      balanced,
      { ip: '192.0.2.1' },
      [`${point}.ipMode: Required value: must be specified when \`ip\` is set`],
    ],
    [
      'mode without address',
      balanced,
      { ipMode: 'VIP' },
      [`${point}.ipMode: Forbidden: may not be specified when \`ip\` is not set`],
    ],
    [
      'unknown mode',
      balanced,
      { ip: '192.0.2.1', ipMode: 'X' },
      [`${point}.ipMode: Unsupported value: "X": supported values: "Proxy", "VIP"`],
    ],
    [
      'an address as name',
      balanced,
      { hostname: '192.0.2.1' },
      [`${point}.hostname: Invalid value: "192.0.2.1": must be a DNS name, not an IP address`],
    ],
  ])('%s', (_, fields, ingress, messages) => {
    const object: Service = { ...service(fields), status: { loadBalancer: { ingress: [ingress] } } }
    const door = serviceKind.subresources.status!
    if (door.type !== 'part') throw new Error('status is no part')
    expect(shown(door.validateUpdate!(object, object))).toEqual(messages)
  })
})
