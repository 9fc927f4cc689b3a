/** The names all servers serve: Services with an address each. */
export interface ServiceName {
  readonly service: string
  readonly name: string
  readonly address: string
}

export function createServiceNames(count: number): ServiceName[] {
  return Array.from({ length: count }, (_, i) => ({
    service: `web-${i}`,
    name: `web-${i}.default.svc.cluster.local`,
    address: `10.96.${100 + (i >> 8)}.${i & 255}`,
  }))
}
