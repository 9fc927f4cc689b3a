import type { FlowScenario } from '../../src/service-proxy/packet-flows.contract.ts'

const web = { name: 'web', clusterIP: 'C1', ports: ['80:30080'] } as const
const scenario = (...endpoints: string[]): FlowScenario => ({
  name: endpoints.join(' '),
  services: [{ ...web, endpoints }],
  flows: [],
})

/** Between any two of them one endpoint at least stays: whenever the proxy dies, somebody answers. */
export const KILLED_SCENARIOS: readonly FlowScenario[] = [
  scenario('L1', 'R1'),
  scenario('L1', 'L2', 'R1', 'R2'),
  scenario('R1'),
  scenario('L2', 'R1', 'R2'),
]
