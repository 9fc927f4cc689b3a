import type { Service } from '../../src/api/generated/core-v1.ts'
import type { EndpointSlice } from '../../src/api/generated/discovery-v1.ts'

export const ENDPOINTS = 3
export const PORT = 80
export const TARGET_PORT = 8080

export const clusterIP = (i: number) => `10.${96 + (i >> 16)}.${(i >> 8) & 255}.${i & 255}`
export const endpointIP = (i: number) => `10.${128 + (i >> 16)}.${(i >> 8) & 255}.${i & 255}`

export const serviceAt = (i: number): Service => ({
  metadata: { namespace: 'bench', name: `service-${i}` },
  spec: { clusterIP: clusterIP(i), clusterIPs: [clusterIP(i)], ports: [{ name: 'http', port: PORT }] },
})

export const endpointsAt = (i: number): string[] =>
  Array.from({ length: ENDPOINTS }, (_, n) => endpointIP(i * ENDPOINTS + n))

export const sliceAt = (i: number, ips: readonly string[] = endpointsAt(i)): EndpointSlice => ({
  metadata: {
    namespace: 'bench',
    name: `service-${i}-a`,
    labels: { 'kubernetes.io/service-name': `service-${i}` },
  },
  addressType: 'IPv4',
  ports: [{ name: 'http', port: TARGET_PORT, protocol: 'TCP' }],
  endpoints: ips.map((ip) => ({ addresses: [ip], conditions: { ready: true }, nodeName: 'elsewhere' })),
})
