import type { HostPort } from '../../cache/pod-facts.ts'
import type { Rejection, SchedulerPlugin } from '../../plugin.ts'

const TAKEN: Rejection = {
  plugin: 'NodePorts',
  reasons: ["node(s) didn't have free ports for the requested pod ports"],
  resolvable: true,
}
const ANY = '0.0.0.0'

/** A port of a host serves one pod; on all addresses or on one. */
export const nodePorts: SchedulerPlugin = {
  name: 'NodePorts',
  retryOn: ['NodeAdd', 'PodDelete'],
  forClass({ ports }, { columns }) {
    if (ports.length === 0) return undefined
    return {
      podsKey: JSON.stringify(ports),
      filterPods(node) {
        const used = columns.usedPorts[node]
        return used?.some((one) => ports.some((wanted) => conflicts(one, wanted))) ? TAKEN : undefined
      },
    }
  },
}

const conflicts = (a: HostPort, b: HostPort) =>
  a.port === b.port && a.protocol === b.protocol && (a.ip === b.ip || a.ip === ANY || b.ip === ANY)
