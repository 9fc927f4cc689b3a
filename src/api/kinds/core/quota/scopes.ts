import type {
  PersistentVolumeClaim,
  Pod,
  PodAffinityTerm,
  PodSpec,
  ResourceQuotaSpec,
  ScopedResourceSelectorRequirement,
} from '../../../generated/core-v1.ts'
import type { KubernetesObject } from '../../../meta/object.ts'
import { qosClass } from '../pod/qos.ts'
import type { MeasuredType } from './usage.ts'

/** Does the object fall under all scopes of the quota? One without scopes takes everything. */
export function matchesScopes(
  spec: ResourceQuotaSpec | undefined,
  type: MeasuredType,
  object: KubernetesObject,
): boolean {
  const scopes: readonly ScopedResourceSelectorRequirement[] = [
    ...(spec?.scopes ?? []).map((scopeName) => ({ scopeName, operator: 'Exists' })),
    ...(spec?.scopeSelector?.matchExpressions ?? []),
  ]
  return scopes.every((scope) => matchesScope(scope, type, object))
}

function matchesScope(
  scope: ScopedResourceSelectorRequirement,
  { group, plural }: MeasuredType,
  object: KubernetesObject,
): boolean {
  if (group !== '') return false
  if (plural === 'pods') return matchesPod(scope, object as Pod)
  if (plural !== 'persistentvolumeclaims' || scope.scopeName !== 'VolumeAttributesClass') return false
  const { spec, status } = object as PersistentVolumeClaim
  const classes = [
    spec?.volumeAttributesClassName,
    status?.currentVolumeAttributesClassName,
    status?.modifyVolumeStatus?.targetVolumeAttributesClassName,
  ]
  return [...new Set(classes)].some((name) => selects(scope, name))
}

function matchesPod(scope: ScopedResourceSelectorRequirement, { spec }: Pod): boolean {
  if (!spec) return false
  switch (scope.scopeName) {
    case 'Terminating':
      return spec.activeDeadlineSeconds !== undefined
    case 'NotTerminating':
      return spec.activeDeadlineSeconds === undefined
    case 'BestEffort':
      return qosClass(spec) === 'BestEffort'
    case 'NotBestEffort':
      return qosClass(spec) !== 'BestEffort'
    case 'PriorityClass':
      return selects(scope, spec.priorityClassName)
    case 'CrossNamespacePodAffinity':
      return affinityTerms(spec).some((term) => (term.namespaces?.length ?? 0) > 0 || term.namespaceSelector)
    default:
      return false
  }
}

function selects({ operator, values = [] }: ScopedResourceSelectorRequirement, value = ''): boolean {
  switch (operator) {
    case 'In':
      return value !== '' && values.includes(value)
    case 'NotIn':
      return value === '' || !values.includes(value)
    case 'Exists':
      return value !== ''
    default:
      return value === ''
  }
}

function affinityTerms({ affinity }: PodSpec): PodAffinityTerm[] {
  return [affinity?.podAffinity, affinity?.podAntiAffinity].flatMap((one) => [
    ...(one?.requiredDuringSchedulingIgnoredDuringExecution ?? []),
    ...(one?.preferredDuringSchedulingIgnoredDuringExecution ?? []).map(({ podAffinityTerm }) => podAffinityTerm),
  ])
}
