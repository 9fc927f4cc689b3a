import { deepEqual } from '../../../../base/deep-equal.ts'
import type { StatefulSet, StatefulSetSpec } from '../../../generated/apps-v1.ts'
import type { PodTemplateSpec, Volume } from '../../../generated/core-v1.ts'
import { type FieldError, forbidden, invalid, notSupported, required } from '../../../meta/field-error.ts'
import { FieldPath } from '../../../meta/field-path.ts'
import { isDns1123Label } from '../../../meta/names.ts'
import { checkNotNegative, refuseField } from '../../core/pod/pod-check.ts'
import { validateClaimSpec } from '../../core/pod/storage-volumes-validation.ts'
import { amountOf, checkAtMost100Percent, checkIntOrPercent } from '../rolling-update.ts'
import { checkRunningTemplate, checkStatusCounts, checkTemplateLabels, checkWorkloadSelector } from '../workload.ts'

const SPEC = FieldPath.root('spec')
const STATUS = FieldPath.root('status')
const NO_MORE = 'cannot be greater than status.replicas'
const RETENTION = ['Retain', 'Delete']
const FIXED =
  "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden"

export function validateStatefulSet(statefulSet: StatefulSet): FieldError[] {
  const errors: FieldError[] = []
  const spec = statefulSet.spec ?? ({} as StatefulSetSpec)
  checkPolicies(spec, errors)
  spec.volumeClaimTemplates?.forEach((claim, i) => {
    validateClaimSpec(claim.spec ?? {}, SPEC.child('volumeClaimTemplates').index(i).child('spec'), errors)
  })
  checkNotNegative(errors, SPEC, 'replicas', spec.replicas)
  checkNotNegative(errors, SPEC, 'minReadySeconds', spec.minReadySeconds)
  checkNotNegative(errors, SPEC, 'ordinals.start', spec.ordinals?.start)
  if (spec.serviceName) refuseField(errors, SPEC, 'serviceName', spec.serviceName, isDns1123Label(spec.serviceName))
  checkWorkloadSelector(spec.selector, 'statefulset', SPEC.child('selector'), errors)
  checkTemplateLabels(spec.template, spec.selector, SPEC.child('template'), errors)
  checkRunningTemplate(templateAsRun(spec), 'StatefulSet', SPEC.child('template'), errors)
  return errors
}

function checkPolicies(spec: StatefulSetSpec, errors: FieldError[]): void {
  const management = spec.podManagementPolicy
  if (!management) errors.push(required(SPEC.child('podManagementPolicy')))
  else if (management !== 'OrderedReady' && management !== 'Parallel')
    errors.push(invalid(SPEC.child('podManagementPolicy'), management, "must be 'OrderedReady' or 'Parallel'"))
  checkUpdateStrategy(spec.updateStrategy ?? {}, SPEC.child('updateStrategy'), errors)
  for (const field of ['whenDeleted', 'whenScaled'] as const) {
    const policy = spec.persistentVolumeClaimRetentionPolicy?.[field]
    if (policy !== undefined && !RETENTION.includes(policy))
      errors.push(notSupported(SPEC.child('persistentVolumeClaimRetentionPolicy', field), policy, RETENTION))
  }
}

function checkUpdateStrategy(
  strategy: NonNullable<StatefulSetSpec['updateStrategy']>,
  path: FieldPath,
  errors: FieldError[],
): void {
  const { type, rollingUpdate } = strategy
  const at = path.child('rollingUpdate')
  if (!type) errors.push(required(path))
  else if (type === 'OnDelete') {
    if (rollingUpdate) errors.push(invalid(at, rollingUpdate, "only allowed for updateStrategy 'RollingUpdate'"))
  } else if (type !== 'RollingUpdate') {
    errors.push(invalid(path, strategy, "must be 'RollingUpdate' or 'OnDelete'"))
  } else if (rollingUpdate) {
    checkNotNegative(errors, at, 'partition', rollingUpdate.partition)
    const { maxUnavailable } = rollingUpdate
    if (maxUnavailable === undefined) return
    checkIntOrPercent(maxUnavailable, at.child('maxUnavailable'), errors)
    if (amountOf(maxUnavailable) === 0) errors.push(invalid(at.child('maxUnavailable'), maxUnavailable, 'cannot be 0'))
    checkAtMost100Percent(maxUnavailable, at.child('maxUnavailable'), errors)
  }
}

/** The controller names each pod and mounts its claims, whatever the template says of those. */
function templateAsRun(spec: StatefulSetSpec): PodTemplateSpec | undefined {
  const { template, volumeClaimTemplates = [] } = spec
  if (!template?.spec) return template
  const claims = volumeClaimTemplates.map(
    (claim): Volume => ({
      name: claim.metadata?.name ?? '',
      persistentVolumeClaim: { claimName: claim.metadata?.name ?? '' },
    }),
  )
  const names = new Set(claims.map((claim) => claim.name))
  const others = (template.spec.volumes ?? []).filter((volume) => !names.has(volume.name))
  return { ...template, spec: { ...template.spec, hostname: '', subdomain: '', volumes: [...claims, ...others] } }
}

export function validateStatefulSetUpdate(statefulSet: StatefulSet, old: StatefulSet): FieldError[] {
  const fixed = (spec: StatefulSetSpec | undefined) => ({
    podManagementPolicy: spec?.podManagementPolicy,
    selector: spec?.selector,
    serviceName: spec?.serviceName || undefined,
    volumeClaimTemplates: spec?.volumeClaimTemplates,
  })
  return deepEqual(fixed(statefulSet.spec), fixed(old.spec)) ? [] : [forbidden(SPEC, FIXED)]
}

export function validateStatefulSetStatus(statefulSet: StatefulSet, old: StatefulSet): FieldError[] {
  const status = statefulSet.status ?? { replicas: 0 }
  const errors = checkStatusCounts(
    status,
    STATUS,
    [
      'replicas',
      'readyReplicas',
      'currentReplicas',
      'updatedReplicas',
      'availableReplicas',
      'observedGeneration',
      'collisionCount',
    ],
    [
      ['readyReplicas', 'replicas', NO_MORE],
      ['currentReplicas', 'replicas', NO_MORE],
      ['updatedReplicas', 'replicas', NO_MORE],
      ['availableReplicas', 'replicas', NO_MORE],
      ['availableReplicas', 'readyReplicas', 'cannot be greater than status.readyReplicas'],
    ],
  )
  if ((status.collisionCount ?? 0) < (old.status?.collisionCount ?? 0))
    errors.push(invalid(STATUS.child('collisionCount'), status.collisionCount ?? 0, 'cannot be decremented'))
  return errors
}
