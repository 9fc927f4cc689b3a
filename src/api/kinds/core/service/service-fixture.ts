import type { Service, ServiceSpec } from '../../../generated/core-v1.ts'

/** Fields of a Service as validation sees it: defaulted and allocated. Undefined takes a field away. */
export type Fields = { [field in keyof ServiceSpec]?: ServiceSpec[field] | undefined }

const plain: Fields = {
  type: 'ClusterIP',
  clusterIP: '10.96.0.1',
  clusterIPs: ['10.96.0.1'],
  ipFamilies: ['IPv4'],
  ipFamilyPolicy: 'SingleStack',
  internalTrafficPolicy: 'Cluster',
  sessionAffinity: 'None',
  ports: [{ name: 'http', port: 80, protocol: 'TCP', targetPort: 8080 }],
}
export const headless: Fields = { clusterIP: 'None', clusterIPs: ['None'] }
export const external: Fields = {
  type: 'ExternalName',
  externalName: 'db.example.com',
  clusterIP: undefined,
  clusterIPs: undefined,
  ipFamilies: undefined,
  ipFamilyPolicy: undefined,
  ports: undefined,
}
export const balanced: Fields = {
  type: 'LoadBalancer',
  externalTrafficPolicy: 'Cluster',
  allocateLoadBalancerNodePorts: true,
}
export const local: Fields = { ...balanced, externalTrafficPolicy: 'Local', healthCheckNodePort: 30000 }
export const dual: Fields = {
  clusterIPs: ['10.96.0.1', 'fd00::1'],
  ipFamilies: ['IPv4', 'IPv6'],
  ipFamilyPolicy: 'RequireDualStack',
}
export const ip = (text: string): Fields => ({ clusterIP: text, clusterIPs: [text] })
export const affinity = (sessionAffinityConfig?: ServiceSpec['sessionAffinityConfig']): Fields => ({
  sessionAffinity: 'ClientIP',
  sessionAffinityConfig,
})
export const exposed = (...externalIPs: string[]): Fields => ({ externalIPs, externalTrafficPolicy: 'Cluster' })
export const port = (fields: object = {}) => ({ name: 'http', port: 80, protocol: 'TCP', targetPort: 80, ...fields })
export const ports = (...list: object[]): Fields => ({ ports: list.map(port) })

export function service(fields: Fields, annotations?: Record<string, string>): Service {
  const spec = structuredClone({ ...plain, ...fields }) as ServiceSpec
  for (const field of Object.keys(spec) as (keyof ServiceSpec)[]) if (spec[field] === undefined) delete spec[field]
  return { metadata: { name: 'web', namespace: 'default', ...(annotations && { annotations }) }, spec }
}

export const shown = (errors: readonly { field: string; message: string }[]) =>
  errors.map((e) => `${e.field}: ${e.message}`)
