import { describe, expect, it } from 'vitest'
import type { HTTPIngressPath, Ingress, IngressBackend, IngressSpec } from '../../../generated/networking-v1.ts'
import { ingressKind } from './kind.ts'

const backend: IngressBackend = { service: { name: 'web', port: { number: 80 } } }
const ingress = (spec?: IngressSpec, annotations?: Record<string, string>): Ingress => ({
  metadata: { name: 'web', creationTimestamp: '2026-01-01T00:00:00Z', ...(annotations && { annotations }) },
  ...(spec && { spec }),
})
const http = (...paths: Partial<HTTPIngressPath>[]): IngressSpec => ({
  rules: [
    {
      host: 'a.example.com',
      http: { paths: paths.map((path) => ({ path: '/', pathType: 'Prefix', backend, ...path })) },
    },
  ],
})
const host = (name: string): IngressSpec => ({ rules: [{ host: name }] })
const to = (target: IngressBackend): IngressSpec => ({ defaultBackend: target })
const errorsOf = (object: Ingress) => ingressKind.validate!(object).map((error) => `${error.field}: ${error.message}`)

describe('validation', () => {
  it.each<[string, IngressSpec]>([
    ['a default backend', to(backend)],
    ['a named port', to({ service: { name: 'web', port: { name: 'http' } } })],
    ['a service whose name begins with a digit', to({ service: { name: '1web', port: { number: 80 } } })],
    ['a resource', to({ resource: { apiGroup: 'example.com', kind: 'Bucket', name: 'b' } })],
    ['paths', http({ path: '/a', pathType: 'Exact' }, { path: '', pathType: 'ImplementationSpecific' })],
    ['any host', { rules: [{}] }],
    ['a wildcard host', host('*.example.com')],
    ['TLS', { ...to(backend), tls: [{ hosts: ['a.example.com', '*.example.com'], secretName: 'cert' }, {}] }],
    ['a class', { ...to(backend), ingressClassName: 'nginx' }],
  ])('accepts %s', (_, spec) => {
    expect(errorsOf(ingress(spec))).toEqual([])
  })

  it.each<[string, IngressSpec | undefined, string]>([
    ['nothing', undefined, 'spec: Invalid value: null: either `defaultBackend` or `rules` must be specified'],
    ['no rules', { rules: [] }, 'spec: Invalid value: []: either `defaultBackend` or `rules` must be specified'],
    ['empty backend', to({}), 'spec.defaultBackend: Invalid value: "": resource or service backend is required'],
    [
      'both backends',
      to({ ...backend, resource: { kind: 'a', name: 'b' } }),
      'spec.defaultBackend: Invalid value: "": cannot set both resource and service backends',
    ],
    [
      'no service name',
      to({ service: { name: '', port: { number: 80 } } }),
      'spec.defaultBackend.service.name: Required value',
    ],
    [
      'bad service name',
      to({ service: { name: 'a.b', port: { number: 80 } } }),
      'spec.defaultBackend.service.name: Invalid value: "a.b": must not contain dots',
    ],
    ['no port', to({ service: { name: 'a' } }), 'spec.defaultBackend: Required value: port name or number is required'],
    [
      'both ports',
      to({ service: { name: 'a', port: { name: 'a', number: 1 } } }),
      'spec.defaultBackend: Invalid value: "": cannot set both port name & port number',
    ],
    [
      'bad port name',
      to({ service: { name: 'a', port: { name: '1' } } }),
      'spec.defaultBackend.service.port.name: Invalid value: "1": must contain at least one letter (a-z)',
    ],
    [
      'bad port number',
      to({ service: { name: 'a', port: { number: 70000 } } }),
      'spec.defaultBackend.service.port.number: Invalid value: 70000: must be between 1 and 65535, inclusive',
    ],
    [
      'resource without kind',
      to({ resource: { kind: '', name: 'b' } }),
      'spec.defaultBackend.resource.kind: Required value',
    ],
    [
      'resource with a bad name',
      to({ resource: { kind: 'A', name: 'a/b' } }),
      `spec.defaultBackend.resource.name: Invalid value: "a/b": may not contain '/'`,
    ],
    [
      'resource of a bad group',
      to({ resource: { apiGroup: 'A', kind: 'A', name: 'a' } }),
      'spec.defaultBackend.resource.apiGroup: Invalid value: "A": a lowercase RFC 1123 subdomain',
    ],
    [
      'no path type',
      http({ pathType: undefined as unknown as string }),
      'spec.rules[0].http.paths[0].pathType: Required value: pathType must be specified',
    ],
    [
      'unknown path type',
      http({ pathType: 'Regex' }),
      'spec.rules[0].http.paths[0].pathType: Unsupported value: "Regex": supported values: "Exact", "ImplementationSpecific", "Prefix"',
    ],
    [
      'relative path',
      http({ path: 'a' }),
      'spec.rules[0].http.paths[0].path: Invalid value: "a": must be an absolute path',
    ],
    [
      'relative specific path',
      http({ path: 'a', pathType: 'ImplementationSpecific' }),
      'spec.rules[0].http.paths[0].path: Invalid value: "a": must be an absolute path',
    ],
    [
      'double slash',
      http({ path: '/a//b' }),
      `spec.rules[0].http.paths[0].path: Invalid value: "/a//b": must not contain '//'`,
    ],
    ['escaped slash', http({ path: '/a%2fb' }), `must not contain '%2f'`],
    [
      'dots at the end',
      http({ path: '/a/..' }),
      `spec.rules[0].http.paths[0].path: Invalid value: "/a/..": cannot end with '/..'`,
    ],
    ['no paths', http(), 'spec.rules[0].http.paths: Required value'],
    [
      'path without backend',
      http({ backend: undefined as unknown as IngressBackend }),
      'spec.rules[0].http.paths[0].backend: Invalid value: "": resource or service backend is required',
    ],
    [
      'an address as host',
      host('1.2.3.4'),
      'spec.rules[0].host: Invalid value: "1.2.3.4": must be a DNS name, not an IP address',
    ],
    ['a bad host', host('A'), 'spec.rules[0].host: Invalid value: "A": a lowercase RFC 1123 subdomain'],
    ['a bad wildcard', host('a.*.b'), 'spec.rules[0].host: Invalid value: "a.*.b": a wildcard DNS-1123 subdomain'],
    [
      'a bad TLS host',
      { ...to(backend), tls: [{ hosts: ['A'] }] },
      'spec.tls[0].hosts[0]: Invalid value: "A": a lowercase RFC 1123 subdomain',
    ],
    [
      'a bad secret name',
      { ...to(backend), tls: [{ secretName: 'A' }] },
      'spec.tls[0].secretName: Invalid value: "A": a lowercase RFC 1123 subdomain',
    ],
    [
      'a bad class',
      { ...to(backend), ingressClassName: 'A' },
      'spec.ingressClassName: Invalid value: "A": a lowercase RFC 1123 subdomain',
    ],
  ])('refuses %s', (_, spec, message) => {
    const errors = errorsOf(ingress(spec))
    expect(errors).toHaveLength(1)
    expect(errors[0]).toContain(message)
  })

  it('holds the class annotation against new objects only', () => {
    const object = ingress({ ...to(backend), ingressClassName: 'a' }, { 'kubernetes.io/ingress.class': 'b' })
    expect(errorsOf(object)).toEqual([
      'annotations.kubernetes.io/ingress.class: Invalid value: "b": must match `ingressClassName` when both are specified',
    ])
    object.metadata.resourceVersion = '5'
    expect(errorsOf(object)).toEqual([])
  })

  it('checks the status', () => {
    const door = ingressKind.subresources.status!
    if (door.type !== 'part') throw new Error('status is no part')
    const object = ingress(to(backend))
    object.status = {
      loadBalancer: { ingress: [{ ip: '1.2.3.4' }, { hostname: 'a.b' }, { ip: 'x' }, { hostname: '1.2.3.4' }] },
    }
    expect(door.validateUpdate!(object, object).map((error) => error.field)).toEqual([
      'status.loadBalancer.ingress[2].ip',
      'status.loadBalancer.ingress[3].hostname',
    ])
  })
})

it('warns of the old annotation', () => {
  const old = { 'kubernetes.io/ingress.class': 'b' }
  const warning = `annotation "kubernetes.io/ingress.class" is deprecated, please use 'spec.ingressClassName' instead`
  expect(ingressKind.warnings!(ingress(to(backend), old), undefined)).toEqual([warning])
  expect(ingressKind.warnings!(ingress(to(backend), old), ingress())).toEqual([])
  expect(ingressKind.warnings!(ingress({ ingressClassName: 'b' }, old), undefined)).toEqual([])
})

it.each<[IngressSpec, Ingress['status'], unknown[]]>([
  [to(backend), undefined, ['web', '<none>', '*', '', '80', '0s']],
  [
    { ingressClassName: 'nginx', rules: ['a', 'b', 'c', 'd', 'e'].map((name) => ({ host: name })), tls: [{}] },
    { loadBalancer: { ingress: [{ ip: '192.0.2.2' }, { hostname: 'lb' }, { ip: '192.0.2.1' }] } },
    ['web', 'nginx', 'a,b,c + 2 more...', '192.0.2.1,192.0.2.2,lb', '80, 443', '0s'],
  ],
  [{ rules: [{ host: 'a' }, {}, { host: 'b' }] }, {}, ['web', '<none>', 'a,b', '', '80', '0s']],
])('columns of %o', (spec, status, expected) => {
  const object: Ingress = { ...ingress(spec), ...(status && { status }) }
  expect(ingressKind.columns.map((column) => column.value(object, Date.UTC(2026, 0, 1)))).toEqual(expected)
})
