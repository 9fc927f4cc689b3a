/** Which endpoints a port's traffic may go to from this node: readiness, policies, topology, terminating fallback. */
import { isExternallyAccessible, type ServicePort } from '../service-port.ts'
import type { PortSpec } from './service-spec.ts'
import type { KnownEndpoint } from './slice-endpoints.ts'

export interface Place {
  readonly nodeName: string
  /** The label topology.kubernetes.io/zone of the node. */
  readonly zone: string | undefined
}

export type Selection = Pick<ServicePort, 'clusterEndpoints' | 'localEndpoints' | 'servingEndpoints' | 'hasEndpoints'>

export function selectEndpoints(endpoints: readonly KnownEndpoint[], spec: PortSpec, place: Place): Selection {
  const isExternal = isExternallyAccessible(spec)
  // An external Local policy needs the others too: pods and the node itself pass it by.
  const usesCluster = !spec.internalPolicyLocal || isExternal
  const usesLocal = spec.internalPolicyLocal || (spec.externalPolicyLocal && isExternal)
  const clusterEndpoints = usesCluster ? clusterScope(endpoints, place) : []
  return {
    clusterEndpoints,
    localEndpoints: usesLocal ? readyElseServing(endpoints.filter(({ isLocal }) => isLocal)) : [],
    servingEndpoints: spec.protocol === 'UDP' ? endpoints.filter(({ isServing }) => isServing) : [],
    hasEndpoints:
      clusterEndpoints.length > 0 || (usesLocal && endpoints.some((one) => one.isReady || isLastResort(one))),
  }
}

const isLastResort = (endpoint: KnownEndpoint) => endpoint.isServing && endpoint.isTerminating

function readyElseServing(endpoints: readonly KnownEndpoint[]): readonly KnownEndpoint[] {
  const ready = endpoints.filter(({ isReady }) => isReady)
  return ready.length > 0 ? ready : endpoints.filter(isLastResort)
}

/** Ready ones near by, if hints say that is enough; else all ready ones; else those that terminate but still serve. */
function clusterScope(endpoints: readonly KnownEndpoint[], { nodeName, zone }: Place): readonly KnownEndpoint[] {
  const ready = endpoints.filter(({ isReady }) => isReady)
  if (ready.length === 0) return endpoints.filter(isLastResort)
  return near(ready, nodeName, ({ nodeHints }) => nodeHints) ?? near(ready, zone, ({ zoneHints }) => zoneHints) ?? ready
}

/** Those that are meant for `here`; undefined unless all have a hint and at least one is. */
function near(
  ready: readonly KnownEndpoint[],
  here: string | undefined,
  hintsOf: (endpoint: KnownEndpoint) => readonly string[],
): readonly KnownEndpoint[] | undefined {
  if (!here || ready.some((endpoint) => hintsOf(endpoint).length === 0)) return undefined
  const found = ready.filter((endpoint) => hintsOf(endpoint).includes(here))
  return found.length > 0 ? found : undefined
}
