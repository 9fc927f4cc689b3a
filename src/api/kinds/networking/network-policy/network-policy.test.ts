import { describe, expect, it } from 'vitest'
import type {
  NetworkPolicy,
  NetworkPolicyPeer,
  NetworkPolicyPort,
  NetworkPolicySpec,
} from '../../../generated/networking-v1.ts'
import { networkPolicyKind as kind } from './kind.ts'

const policy = (spec?: NetworkPolicySpec): NetworkPolicy => ({
  metadata: { name: 'p', creationTimestamp: '2026-01-01T00:00:00Z' },
  ...(spec && { spec }),
})
const from = (...peers: NetworkPolicyPeer[]): NetworkPolicySpec => ({ podSelector: {}, ingress: [{ from: peers }] })
const to = (...peers: NetworkPolicyPeer[]): NetworkPolicySpec => ({ podSelector: {}, egress: [{ to: peers }] })
const ports = (...list: NetworkPolicyPort[]): NetworkPolicySpec => ({ podSelector: {}, ingress: [{ ports: list }] })
const block = (cidr: string, ...except: string[]) => from({ ipBlock: { cidr, except } })

describe('defaults', () => {
  it.each<[string, NetworkPolicySpec | undefined, NetworkPolicySpec]>([
    ['nothing', undefined, { podSelector: {}, policyTypes: ['Ingress'] }],
    ['egress rules', { egress: [{}] }, { podSelector: {}, egress: [{}], policyTypes: ['Ingress', 'Egress'] }],
    [
      'types as given',
      { egress: [{}], policyTypes: ['Egress'] },
      { podSelector: {}, egress: [{}], policyTypes: ['Egress'] },
    ],
    [
      'protocols',
      {
        ingress: [{ ports: [{ port: 80 }] }],
        egress: [{ ports: [{ protocol: 'UDP' }, {}] }],
        policyTypes: ['Ingress'],
      },
      {
        podSelector: {},
        ingress: [{ ports: [{ port: 80, protocol: 'TCP' }] }],
        egress: [{ ports: [{ protocol: 'UDP' }, { protocol: 'TCP' }] }],
        policyTypes: ['Ingress'],
      },
    ],
  ])('%s', (_, spec, expected) => {
    const draft = policy(spec)
    kind.defaults!(draft)
    expect(draft.spec).toEqual(expected)
  })
})

describe('validation', () => {
  it.each<[string, NetworkPolicySpec | undefined]>([
    ['an empty one', undefined],
    ['everything', { podSelector: {}, ingress: [{}], egress: [{}], policyTypes: ['Ingress', 'Egress'] }],
    ['selectors', from({ podSelector: { matchLabels: { a: 'b' } }, namespaceSelector: {} })],
    ['a block with holes', block('10.0.0.0/8', '10.1.0.0/16', '10.2.3.4/32')],
    ['IPv6', to({ ipBlock: { cidr: 'fd00::/8', except: ['fd01::/16'] } })],
    [
      'ports',
      ports({ port: 80, endPort: 90, protocol: 'TCP' }, { port: 'http', protocol: 'SCTP' }, { protocol: 'UDP' }),
    ],
  ])('accepts %s', (_, spec) => {
    expect(kind.validate!(policy(spec))).toEqual([])
  })

  it.each<[string, NetworkPolicySpec, string]>([
    [
      'a bad selector',
      { podSelector: { matchLabels: { 'a b': 'c' } } },
      'spec.podSelector.matchLabels: Invalid value: "a b": name part must consist of',
    ],
    ['a peer without anything', from({}), 'spec.ingress[0].from[0]: Required value: must specify a peer'],
    [
      'a block and a selector',
      to({ podSelector: {}, ipBlock: { cidr: '10.0.0.0/8' } }),
      'spec.egress[0].to[0]: Forbidden: may not specify both ipBlock and another peer',
    ],
    [
      'a bad peer selector',
      to({ namespaceSelector: { matchExpressions: [{ key: 'a', operator: 'Like' }] } }),
      'spec.egress[0].to[0].namespaceSelector.matchExpressions[0].operator: Invalid value: "Like": not a valid selector operator',
    ],
    ['no CIDR', block(''), 'spec.ingress[0].from[0].ipBlock.cidr: Required value'],
    [
      'a bad CIDR',
      block('10.0.0.0'),
      'spec.ingress[0].from[0].ipBlock.cidr: Invalid value: "10.0.0.0": must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)',
    ],
    ['host bits', block('10.0.0.1/8'), 'must not have bits set beyond the prefix length'],
    ['leading zeros', block('10.0.0.0/08'), 'must not have leading 0s in IP or prefix length'],
    ['a mapped CIDR', block('::ffff:1.2.3.0/120'), 'must not have an IPv4-mapped IPv6 address'],
    [
      'a hole elsewhere',
      block('10.0.0.0/8', '11.0.0.0/16'),
      'spec.ingress[0].from[0].ipBlock.except[0]: Invalid value: "11.0.0.0/16": must be a strict subset of `cidr`',
    ],
    [
      'a hole of the whole',
      block('10.0.0.0/8', '10.0.0.0/8'),
      'spec.ingress[0].from[0].ipBlock.except[0]: Invalid value: "10.0.0.0/8": must be a strict subset of `cidr`',
    ],
    [
      'a bad hole',
      block('10.0.0.0/8', 'x'),
      'spec.ingress[0].from[0].ipBlock.except[0]: Invalid value: "x": must be a valid CIDR value',
    ],
    [
      'an unknown protocol',
      ports({ protocol: 'ICMP' }),
      'spec.ingress[0].ports[0].protocol: Unsupported value: "ICMP": supported values: "TCP", "UDP", "SCTP"',
    ],
    [
      'port 0',
      ports({ port: 0 }),
      'spec.ingress[0].ports[0].port: Invalid value: 0: must be between 1 and 65535, inclusive',
    ],
    [
      'a bad port name',
      ports({ port: '-' }),
      'spec.ingress[0].ports[0].port: Invalid value: "-": must contain at least one letter (a-z)',
    ],
    [
      'an end before the start',
      ports({ port: 80, endPort: 79 }),
      'spec.ingress[0].ports[0].endPort: Invalid value: 80: must be greater than or equal to `port`',
    ],
    [
      'an end without start',
      ports({ endPort: 79 }),
      'spec.ingress[0].ports[0].endPort: Invalid value: 79: may not be specified when `port` is not specified',
    ],
    [
      'an end of a name',
      ports({ port: 'http', endPort: 79 }),
      'spec.ingress[0].ports[0].endPort: Invalid value: 79: may not be specified when `port` is non-numeric',
    ],
    [
      'an unknown type',
      { policyTypes: ['Any'] },
      'spec.policyTypes[0]: Unsupported value: "Any": supported values: "Ingress", "Egress"',
    ],
    [
      'three types',
      { policyTypes: ['Ingress', 'Egress', 'Ingress'] },
      'spec.policyTypes: Invalid value: ["Ingress","Egress","Ingress"]: may not specify more than two policyTypes',
    ],
  ])('refuses %s', (_, spec, message) => {
    const errors = kind.validate!(policy(spec)).map((error) => `${error.field}: ${error.message}`)
    expect(errors[0]).toContain(message)
  })
})

it('generation follows the spec', () => {
  const draft = policy({ policyTypes: ['Egress'] })
  kind.prepareCreate!(draft)
  expect(draft.metadata.generation).toBe(1)
  const next = policy({ policyTypes: ['Ingress'] })
  kind.prepareUpdate!(next, draft)
  expect(next.metadata.generation).toBe(2)
  const same = policy({ policyTypes: ['Ingress'] })
  kind.prepareUpdate!(same, next)
  expect(same.metadata.generation).toBe(2)
})

it.each([
  [undefined, '<none>'],
  [{}, '<none>'],
  [{ matchLabels: { b: '2', a: '1' } }, 'a=1,b=2'],
  [{ matchExpressions: [{ key: 'a', operator: 'In', values: ['x', 'y'] }] }, 'a in (x,y)'],
  [{ matchExpressions: [{ key: 'a', operator: 'Like' }] }, '<error>'],
])('selector %o is shown as %s', (podSelector, expected) => {
  const object = policy(podSelector && { podSelector })
  expect(kind.columns.map((column) => column.value(object, Date.UTC(2026, 0, 1)))).toEqual(['p', expected, '0s'])
})

it('warns of spellings', () => {
  expect(
    kind.warnings!(
      policy(to({ ipBlock: { cidr: 'FD00::/8', except: ['FD01::/16'] } }, { podSelector: {} })),
      undefined,
    ),
  ).toEqual([
    'spec.egress[0].to[0].ipBlock.cidr: IPv6 CIDR value "FD00::/8" should be in RFC 5952 canonical format ("fd00::/8")',
    'spec.egress[0].to[0].ipBlock.except[0]: IPv6 CIDR value "FD01::/16" should be in RFC 5952 canonical format ("fd01::/16")',
  ])
})
