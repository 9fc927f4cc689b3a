import { cidrContainsCIDR, parseSloppyCIDR } from '../../../../base/ip-address.ts'
import type { IPBlock, NetworkPolicy, NetworkPolicyPeer, NetworkPolicyPort } from '../../../generated/networking-v1.ts'
import { type FieldError, forbidden, invalid, notSupported, required } from '../../../meta/field-error.ts'
import { FieldPath } from '../../../meta/field-path.ts'
import { validateCIDR } from '../../../meta/ip-validation.ts'
import { isPortName, isPortNumber } from '../../../meta/names.ts'
import { validateSelector } from '../../core/pod/label-selectors.ts'
import { addInvalid } from '../../core/service/port-validation.ts'

const SPEC = FieldPath.root('spec')
const PROTOCOLS = ['TCP', 'UDP', 'SCTP'] as const
const POLICY_TYPES = ['Ingress', 'Egress'] as const

export function validateNetworkPolicy(policy: NetworkPolicy): FieldError[] {
  const { podSelector, ingress = [], egress = [], policyTypes = [] } = policy.spec ?? {}
  const errors: FieldError[] = []
  validateSelector(podSelector, SPEC.child('podSelector'), errors)
  ingress.forEach((rule, i) => {
    validateRule(errors, rule.ports, rule.from, SPEC.child('ingress').index(i), 'from')
  })
  egress.forEach((rule, i) => {
    validateRule(errors, rule.ports, rule.to, SPEC.child('egress').index(i), 'to')
  })
  validatePolicyTypes(errors, policyTypes, SPEC.child('policyTypes'))
  return errors
}

function validatePolicyTypes(errors: FieldError[], types: readonly string[], path: FieldPath): void {
  if (types.length > POLICY_TYPES.length) {
    errors.push(invalid(path, types, 'may not specify more than two policyTypes'))
    return
  }
  types.forEach((type, i) => {
    if (!POLICY_TYPES.includes(type as 'Ingress')) errors.push(notSupported(path.index(i), type, POLICY_TYPES))
  })
}

function validateRule(
  errors: FieldError[],
  ports: readonly NetworkPolicyPort[] = [],
  peers: readonly NetworkPolicyPeer[] = [],
  path: FieldPath,
  peersField: 'from' | 'to',
): void {
  ports.forEach((port, i) => {
    validatePort(errors, port, path.child('ports').index(i))
  })
  peers.forEach((peer, i) => {
    validatePeer(errors, peer, path.child(peersField).index(i))
  })
}

function validatePort(errors: FieldError[], { protocol, port, endPort }: NetworkPolicyPort, path: FieldPath): void {
  if (protocol !== undefined && !PROTOCOLS.includes(protocol as 'TCP')) {
    errors.push(notSupported(path.child('protocol'), protocol, PROTOCOLS))
  }
  const endPath = path.child('endPort')
  if (typeof port === 'number') {
    addInvalid(errors, path.child('port'), port, isPortNumber(port))
    if (endPort === undefined) return
    if (endPort < port) errors.push(invalid(endPath, port, 'must be greater than or equal to `port`'))
    addInvalid(errors, endPath, endPort, isPortNumber(endPort))
    return
  }
  if (endPort !== undefined) {
    const why = port === undefined ? 'not specified' : 'non-numeric'
    errors.push(invalid(endPath, endPort, `may not be specified when \`port\` is ${why}`))
  }
  if (port !== undefined) addInvalid(errors, path.child('port'), port, isPortName(port))
}

function validatePeer(errors: FieldError[], peer: NetworkPolicyPeer, path: FieldPath): void {
  const { podSelector, namespaceSelector, ipBlock } = peer
  validateSelector(podSelector, path.child('podSelector'), errors)
  validateSelector(namespaceSelector, path.child('namespaceSelector'), errors)
  if (ipBlock) validateIPBlock(errors, ipBlock, path.child('ipBlock'))
  if (!podSelector && !namespaceSelector && !ipBlock) errors.push(required(path, 'must specify a peer'))
  else if (ipBlock && (podSelector || namespaceSelector)) {
    errors.push(forbidden(path, 'may not specify both ipBlock and another peer'))
  }
}

function validateIPBlock(errors: FieldError[], { cidr, except = [] }: IPBlock, path: FieldPath): void {
  if (!cidr) {
    errors.push(required(path.child('cidr')))
    return
  }
  validateCIDR(errors, path.child('cidr'), cidr)
  const block = parseSloppyCIDR(cidr)
  if (block === undefined) return
  except.forEach((text, i) => {
    const exceptPath = path.child('except').index(i)
    validateCIDR(errors, exceptPath, text)
    const hole = parseSloppyCIDR(text)
    if (hole === undefined) return
    if (!cidrContainsCIDR(block, hole) || hole.prefixLength <= block.prefixLength) {
      errors.push(invalid(exceptPath, text, 'must be a strict subset of `cidr`'))
    }
  })
}
