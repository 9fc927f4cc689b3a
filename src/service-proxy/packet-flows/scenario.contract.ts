/** What a row of the packet tables is made of. The names of places are told in ../packet-flows.contract.ts. */
export interface FlowEndpoint {
  /** `L1`, or with conditions: `L1 terminating`, `R1 unready`, `R2 dead` (terminating and not serving). */
  readonly is: string
  readonly zones?: readonly string[]
  readonly nodes?: readonly string[]
}

export interface FlowService {
  readonly name: string
  readonly clusterIP: string
  /** `80`, `80/UDP`, `80:30080` with a node port. */
  readonly ports: readonly string[]
  readonly externalIPs?: readonly string[]
  readonly loadBalancerIPs?: readonly string[]
  readonly ipMode?: 'VIP' | 'Proxy'
  /** Names of places, each as a range of its own. */
  readonly sourceRanges?: readonly string[]
  readonly internal?: 'Local'
  readonly external?: 'Local'
  readonly affinitySeconds?: number
  readonly endpoints: readonly (string | FlowEndpoint)[]
}

export interface FlowScenario {
  readonly name: string
  readonly masqueradeAll?: boolean
  readonly withoutDetector?: boolean
  readonly zone?: string
  readonly services: readonly FlowService[]
  /** `P -> C1:80` or `P -> C1:80/UDP`, and the outcome. */
  readonly flows: readonly (readonly [string, string])[]
}

export const nodePort: FlowService = {
  name: 'web',
  clusterIP: 'C1',
  ports: ['80:30080'],
  loadBalancerIPs: ['B1'],
  endpoints: ['L1', 'R1'],
}
export const clusterIP: FlowService = { name: 'web', clusterIP: 'C1', ports: ['80'], endpoints: ['L1', 'R1'] }
export const externalIP: FlowService = { ...clusterIP, externalIPs: ['X1'] }
