import { parseSloppyIP } from '../../../../base/ip-address.ts'
import type { HTTPIngressPath, Ingress, IngressRule, IngressTLS } from '../../../generated/networking-v1.ts'
import { type FieldError, invalid, notSupported, required } from '../../../meta/field-error.ts'
import { FieldPath } from '../../../meta/field-path.ts'
import { validateIP } from '../../../meta/ip-validation.ts'
import { isDns1123Subdomain, isWildcardDns1123Subdomain } from '../../../meta/names.ts'
import { ANNOTATION } from '../../../meta/well-known.ts'
import { validateIngressHostname } from '../../core/service/load-balancer-validation.ts'
import { addInvalid } from '../../core/service/port-validation.ts'
import { validateIngressBackend } from './backend-validation.ts'

export const INGRESS_CLASS_ANNOTATION = ANNOTATION.ingressClass

const SPEC = FieldPath.root('spec')
const PATH_TYPES = ['Exact', 'ImplementationSpecific', 'Prefix'] as const
const FORBIDDEN_SEQUENCES = ['//', '/./', '/../', '%2f', '%2F'] as const
const FORBIDDEN_ENDINGS = ['/..', '/.'] as const

export function validateIngress(ingress: Ingress): FieldError[] {
  const errors: FieldError[] = []
  const { rules = [], defaultBackend, tls = [], ingressClassName } = ingress.spec ?? {}
  if (rules.length === 0 && !defaultBackend) {
    errors.push(invalid(SPEC, ingress.spec?.rules, 'either `defaultBackend` or `rules` must be specified'))
  }
  if (defaultBackend) validateIngressBackend(errors, defaultBackend, SPEC.child('defaultBackend'))
  for (let i = 0; i < rules.length; i++) validateRule(errors, rules[i]!, SPEC.child('rules').index(i))
  for (let i = 0; i < tls.length; i++) validateTLS(errors, tls[i]!, SPEC.child('tls').index(i))
  if (ingressClassName !== undefined) {
    addInvalid(errors, SPEC.child('ingressClassName'), ingressClassName, isDns1123Subdomain(ingressClassName))
    validateClassAnnotation(errors, ingress, ingressClassName)
  }
  return errors
}

function validateClassAnnotation(errors: FieldError[], ingress: Ingress, className: string): void {
  const annotation = ingress.metadata.annotations?.[INGRESS_CLASS_ANNOTATION]
  // Held only against new objects, which have no resourceVersion yet: existing ones may carry both from older days.
  if (annotation === undefined || annotation === className || ingress.metadata.resourceVersion) return
  const path = FieldPath.root('annotations').child(INGRESS_CLASS_ANNOTATION)
  errors.push(invalid(path, annotation, 'must match `ingressClassName` when both are specified'))
}

function validateRule(errors: FieldError[], rule: IngressRule, path: FieldPath): void {
  if (rule.host) {
    const hostPath = path.child('host')
    if (parseSloppyIP(rule.host)) errors.push(invalid(hostPath, rule.host, 'must be a DNS name, not an IP address'))
    validateHost(errors, rule.host, hostPath)
  }
  if (!rule.http) return
  const paths = rule.http.paths ?? []
  const pathsPath = path.child('http', 'paths')
  if (paths.length === 0) errors.push(required(pathsPath))
  for (let i = 0; i < paths.length; i++) validateHTTPPath(errors, paths[i]!, pathsPath.index(i))
}

function validateHost(errors: FieldError[], host: string, path: FieldPath): void {
  addInvalid(errors, path, host, host.includes('*') ? isWildcardDns1123Subdomain(host) : isDns1123Subdomain(host))
}

function validateHTTPPath(errors: FieldError[], httpPath: HTTPIngressPath, path: FieldPath): void {
  const { pathType, backend, path: url = '' } = httpPath
  if (pathType === undefined) {
    errors.push(required(path.child('pathType'), 'pathType must be specified'))
    return
  }
  if (pathType === 'Exact' || pathType === 'Prefix') validateURLPath(errors, url, path.child('path'))
  else if (pathType !== 'ImplementationSpecific') {
    errors.push(notSupported(path.child('pathType'), pathType, PATH_TYPES))
  } else if (url !== '' && !url.startsWith('/')) {
    errors.push(invalid(path.child('path'), url, 'must be an absolute path'))
  }
  validateIngressBackend(errors, backend ?? {}, path.child('backend'))
}

function validateURLPath(errors: FieldError[], url: string, path: FieldPath): void {
  if (!url.startsWith('/')) errors.push(invalid(path, url, 'must be an absolute path'))
  for (const sequence of FORBIDDEN_SEQUENCES) {
    if (url.includes(sequence)) errors.push(invalid(path, url, `must not contain '${sequence}'`))
  }
  for (const ending of FORBIDDEN_ENDINGS) {
    if (url.endsWith(ending)) errors.push(invalid(path, url, `cannot end with '${ending}'`))
  }
}

function validateTLS(errors: FieldError[], tls: IngressTLS, path: FieldPath): void {
  const hosts = tls.hosts ?? []
  for (let i = 0; i < hosts.length; i++) validateHost(errors, hosts[i]!, path.child('hosts').index(i))
  if (tls.secretName) addInvalid(errors, path.child('secretName'), tls.secretName, isDns1123Subdomain(tls.secretName))
}

export function validateIngressStatus(ingress: Ingress): FieldError[] {
  const errors: FieldError[] = []
  const points = ingress.status?.loadBalancer?.ingress ?? []
  const path = FieldPath.root('status').child('loadBalancer', 'ingress')
  for (let i = 0; i < points.length; i++) {
    const { ip, hostname } = points[i]!
    if (ip) validateIP(errors, path.index(i).child('ip'), ip)
    if (hostname) validateIngressHostname(errors, hostname, path.index(i).child('hostname'))
  }
  return errors
}
