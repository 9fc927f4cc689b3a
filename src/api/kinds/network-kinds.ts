import type { Kind } from '../kind.ts'
import { endpointsKind } from './core/endpoints.ts'
import { serviceKind } from './core/service/kind.ts'
import { endpointSliceKind } from './discovery/endpoint-slice.ts'
import { ingressKind } from './networking/ingress/kind.ts'
import { ingressClassKind } from './networking/ingress-class.ts'
import { ipAddressKind } from './networking/ip-address.ts'
import { networkPolicyKind } from './networking/network-policy/kind.ts'
import { serviceCIDRKind } from './networking/service-cidr.ts'

/** Everything about how pods are reached. */
export const networkKinds: readonly Kind[] = [
  endpointsKind,
  serviceKind,
  ingressClassKind,
  ingressKind,
  ipAddressKind,
  networkPolicyKind,
  serviceCIDRKind,
  endpointSliceKind,
]
