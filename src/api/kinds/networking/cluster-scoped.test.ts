import { describe, expect, it } from 'vitest'
import type {
  IngressClass,
  IngressClassParametersReference,
  IPAddress,
  ParentReference,
  ServiceCIDR,
} from '../../generated/networking-v1.ts'
import type { FieldError } from '../../meta/field-error.ts'
import { ingressClassKind } from './ingress-class.ts'
import { ipAddressKind } from './ip-address.ts'
import { serviceCIDRKind } from './service-cidr.ts'

const shown = (errors: readonly FieldError[]) => errors.map((error) => `${error.field}: ${error.message}`)
const created = { creationTimestamp: '2026-01-01T00:00:00Z' }
const now = Date.UTC(2026, 0, 1, 0, 0, 9)

describe('IngressClass', () => {
  const ingressClass = (controller: string, parameters?: Partial<IngressClassParametersReference>): IngressClass => ({
    metadata: { name: 'c', ...created },
    spec: { controller, ...(parameters && { parameters: { kind: 'K', name: 'n', scope: 'Cluster', ...parameters } }) },
  })
  const ok = 'example.com/controller'
  const at = 'spec.parameters'

  it.each<[string, IngressClass, string[]]>([
    ['a plain one', ingressClass(ok), []],
    ['cluster parameters', ingressClass(ok, { apiGroup: 'example.com' }), []],
    ['namespaced parameters', ingressClass(ok, { scope: 'Namespace', namespace: 'default' }), []],
    ['no controller', ingressClass(''), ['spec.controller: Required value']],
    [
      'no path',
      ingressClass('example.com/'),
      ['spec.controller: Invalid value: "example.com/": must be a domain-prefixed path (such as "acme.io/foo")'],
    ],
    [
      'no domain',
      ingressClass('controller'),
      ['spec.controller: Invalid value: "controller": must be a domain-prefixed path (such as "acme.io/foo")'],
    ],
    [
      'a bad path',
      ingressClass('example.com/a b'),
      [
        `spec.controller: Invalid value: "a b": Invalid path (regex used for validation is '[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+')`,
      ],
    ],
    [
      'a long one',
      ingressClass(`a.b/${'c'.repeat(250)}`),
      ['spec.controller: Too long: may not be more than 250 bytes'],
    ],
    ['no kind', ingressClass(ok, { kind: '' }), [`${at}.kind: Required value`]],
    ['no name', ingressClass(ok, { name: '' }), [`${at}.name: Required value`]],
    [
      'unknown scope',
      ingressClass(ok, { scope: 'All' }),
      [`${at}.scope: Unsupported value: "All": supported values: "Cluster", "Namespace"`],
    ],
    [
      'namespace of the cluster',
      ingressClass(ok, { namespace: 'a' }),
      [`${at}.namespace: Forbidden: \`parameters.scope\` is set to 'Cluster'`],
    ],
    [
      'scope without namespace',
      ingressClass(ok, { scope: 'Namespace' }),
      [`${at}.namespace: Required value: \`parameters.scope\` is set to 'Namespace'`],
    ],
  ])('%s', (_, object, messages) => {
    expect(shown(ingressClassKind.validate!(object))).toEqual(messages)
  })

  it('has cluster parameters by default', () => {
    const draft: IngressClass = { metadata: {}, spec: { controller: ok, parameters: { kind: 'K', name: 'n' } } }
    ingressClassKind.defaults!(draft)
    expect(draft.spec!.parameters!.scope).toBe('Cluster')
  })

  it('keeps its controller', () => {
    expect(ingressClassKind.validateUpdate!(ingressClass(ok), ingressClass(ok))).toEqual([])
    expect(shown(ingressClassKind.validateUpdate!(ingressClass('a.b/c'), ingressClass(ok)))).toEqual([
      'spec.controller: Invalid value: "a.b/c": field is immutable',
    ])
  })

  it('is shown', () => {
    const cells = (object: IngressClass) => ingressClassKind.columns.map((column) => column.value(object, now))
    expect(cells(ingressClass(ok))).toEqual(['c', ok, '<none>', '9s'])
    const object = ingressClass(ok, { apiGroup: 'example.com' })
    object.metadata.annotations = { 'ingressclass.kubernetes.io/is-default-class': 'true' }
    expect(cells(object)).toEqual(['c (default)', ok, 'K.example.com/n', '9s'])
  })
})

describe('IPAddress', () => {
  const address = (parentRef?: Partial<ParentReference>): IPAddress =>
    ({ metadata: { name: '10.0.0.1', ...created }, spec: parentRef ? { parentRef } : {} }) as IPAddress
  const parent = { resource: 'services', namespace: 'default', name: 'web' }

  it.each<[string, string[]]>([
    ['10.0.0.1', []],
    ['fd00::1', []],
    ['FD00::1', ['must be in canonical form ("fd00::1")']],
    ['fd00:0::1', ['must be in canonical form ("fd00::1")']],
    ['010.0.0.1', ['must not have leading 0s']],
    ['::ffff:1.2.3.4', ['must not be an IPv4-mapped IPv6 address']],
    ['web', ['must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)']],
  ])('name %s', (name, messages) => {
    expect(ipAddressKind.validateName!(name, false)).toEqual(messages)
  })

  it.each<[string, IPAddress, string[]]>([
    ['of a Service', address(parent), []],
    ['of something else', address({ group: 'a.b', resource: 'gateways', name: 'g' }), []],
    ['of nothing', address(), ['spec.parentRef: Required value']],
    ['of no resource', address({ name: 'a' }), ['spec.parentRef.resource: Required value']],
    ['of no name', address({ resource: 'a' }), ['spec.parentRef.name: Required value']],
    [
      'of a bad name',
      address({ ...parent, name: 'a/b' }),
      [`spec.parentRef.name: Invalid value: "a/b": may not contain '/'`],
    ],
    [
      'of a bad namespace',
      address({ ...parent, namespace: '..' }),
      [`spec.parentRef.namespace: Invalid value: "..": may not be '..'`],
    ],
  ])('%s', (_, object, messages) => {
    expect(shown(ipAddressKind.validate!(object))).toEqual(messages)
  })

  it('keeps its parent', () => {
    expect(ipAddressKind.validateUpdate!(address(parent), address(parent))).toEqual([])
    expect(shown(ipAddressKind.validateUpdate!(address({ ...parent, name: 'x' }), address(parent)))).toEqual([
      'spec.parentRef: Invalid value: {"resource":"services","namespace":"default","name":"x"}: field is immutable',
    ])
  })

  it.each([
    [parent, 'services/default/web'],
    [{ group: 'a.b', resource: 'Gateways', name: 'g' }, 'gateways.a.b/g'],
    [undefined, '<none>'],
  ])('%o is shown as %s', (ref, expected) => {
    expect(ipAddressKind.columns.map((column) => column.value(address(ref), now))).toEqual(['10.0.0.1', expected, '9s'])
  })
})

describe('ServiceCIDR', () => {
  const range = (...cidrs: string[]): ServiceCIDR => ({ metadata: { name: 'r', ...created }, spec: { cidrs } })
  const at = 'spec.cidrs'

  it.each<[string[], string[]]>([
    [['10.96.0.0/12'], []],
    [['10.96.0.0/12', 'fd00::/112'], []],
    [[], [`${at}: Required value: at least one CIDR required`]],
    [
      ['10.0.0.0/8', 'fd00::/64', '11.0.0.0/8'],
      [`${at}: Invalid value: {"CIDRs":["10.0.0.0/8","fd00::/64","11.0.0.0/8"]}: may only hold up to 2 values`],
    ],
    [['10.0.0.1/8'], [`${at}[0]: Invalid value: "10.0.0.1/8": must not have bits set beyond the prefix length`]],
    [['FD00::/64'], [`${at}[0]: Invalid value: "FD00::/64": must be in canonical form ("fd00::/64")`]],
    [['x'], [`${at}[0]: Invalid value: "x": must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)`]],
    [
      ['10.0.0.0/8', '11.0.0.0/8'],
      [
        `${at}: Invalid value: ["10.0.0.0/8","11.0.0.0/8"]: may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64`,
      ],
    ],
  ])('%o', (cidrs, messages) => {
    expect(shown(serviceCIDRKind.validate!(range(...cidrs)))).toEqual(messages)
  })

  it.each<[string[], string[], string[]]>([
    [['10.0.0.0/8'], ['10.0.0.0/8'], []],
    [['10.0.0.0/8'], ['10.0.0.0/8', 'fd00::/64'], []],
    [['10.0.0.0/8'], ['11.0.0.0/8'], [`${at}[0]: Invalid value: "11.0.0.0/8": field is immutable`]],
    [['10.0.0.0/8'], ['fd00::/64', '10.0.0.0/8'], [`${at}[0]: Invalid value: "fd00::/64": field is immutable`]],
    [['10.0.0.0/8', 'fd00::/64'], ['10.0.0.0/8'], [`${at}: Invalid value: ["10.0.0.0/8"]: field is immutable`]],
  ])('%o to %o', (before, after, messages) => {
    expect(shown(serviceCIDRKind.validateUpdate!(range(...after), range(...before)))).toEqual(messages)
  })

  it('starts without status, and keeps it', () => {
    const draft: ServiceCIDR = { ...range('10.0.0.0/8'), status: { conditions: [] } }
    serviceCIDRKind.prepareCreate!(draft)
    expect(draft).toEqual(range('10.0.0.0/8'))
    serviceCIDRKind.prepareUpdate!(draft, { ...range('10.0.0.0/8'), status: { conditions: [] } })
    expect(draft.status).toEqual({ conditions: [] })
  })

  it('is shown', () => {
    const object = range('10.0.0.0/8', 'fd00::/64')
    expect(serviceCIDRKind.columns.map((column) => column.value(object, now))).toEqual([
      'r',
      '10.0.0.0/8,fd00::/64',
      '9s',
    ])
  })
})
