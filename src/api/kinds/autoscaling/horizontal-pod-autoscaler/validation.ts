import type {
  HorizontalPodAutoscaler,
  HorizontalPodAutoscalerSpec,
  HPAScalingPolicy,
  HPAScalingRules,
} from '../../../generated/autoscaling-v2.ts'
import { type FieldError, forbidden, invalid, notSupported, required } from '../../../meta/field-error.ts'
import { FieldPath } from '../../../meta/field-path.ts'
import { isNegative, parseQuantity } from '../../../meta/quantity.ts'
import { checkNotNegative, NOT_NEGATIVE } from '../../core/pod/pod-check.ts'
import { validateMetric, validateObjectReference } from './metrics-validation.ts'

const SPEC = FieldPath.root('spec')
const STATUS = FieldPath.root('status')
const SELECT_POLICIES = ['Disabled', 'Max', 'Min']
const POLICY_TYPES = ['Percent', 'Pods']
const MAX_WINDOW = 3600
const MAX_PERIOD = 1800

export function validateHorizontalPodAutoscaler(autoscaler: HorizontalPodAutoscaler): FieldError[] {
  const errors: FieldError[] = []
  const spec = autoscaler.spec ?? ({} as HorizontalPodAutoscalerSpec)
  checkReplicas(spec, errors)
  const target = spec.scaleTargetRef
  // The one thing to scale that the core group has.
  const isCore = target?.kind === 'ReplicationController'
  validateObjectReference(target, isCore, SPEC.child('scaleTargetRef'), errors)
  spec.metrics?.forEach((metric, i) => {
    validateMetric(metric, SPEC.child('metrics').index(i), errors)
  })
  if (spec.minReplicas === 0 && !spec.metrics?.some(({ type }) => type === 'Object' || type === 'External'))
    errors.push(
      forbidden(
        SPEC.child('metrics'),
        'must specify at least one Object or External metric to support scaling to zero replicas',
      ),
    )
  checkRules(spec.behavior?.scaleUp, SPEC.child('behavior', 'scaleUp'), errors)
  checkRules(spec.behavior?.scaleDown, SPEC.child('behavior', 'scaleDown'), errors)
  return errors
}

function checkReplicas(spec: HorizontalPodAutoscalerSpec, errors: FieldError[]): void {
  const { minReplicas, maxReplicas = 0 } = spec
  if (minReplicas !== undefined && minReplicas < 1)
    errors.push(invalid(SPEC.child('minReplicas'), minReplicas, 'must be greater than or equal to 1'))
  if (maxReplicas === 0) errors.push(required(SPEC.child('maxReplicas'), 'must be set and greater than 0'))
  else if (maxReplicas < 1)
    errors.push(invalid(SPEC.child('maxReplicas'), maxReplicas, 'must be greater than or equal to 1'))
  if (minReplicas !== undefined && maxReplicas < minReplicas)
    errors.push(invalid(SPEC.child('maxReplicas'), maxReplicas, 'must be greater than or equal to `minReplicas`'))
}

function checkRules(rules: HPAScalingRules | undefined, path: FieldPath, errors: FieldError[]): void {
  if (!rules) return
  const { stabilizationWindowSeconds: window, selectPolicy, policies = [], tolerance } = rules
  const at = path.child('stabilizationWindowSeconds')
  if (window !== undefined && window < 0) errors.push(invalid(at, window, 'must be greater than or equal to zero'))
  if (window !== undefined && window > MAX_WINDOW)
    errors.push(invalid(at, window, `must be less than or equal to ${MAX_WINDOW}`))
  if (selectPolicy !== undefined && !SELECT_POLICIES.includes(selectPolicy))
    errors.push(notSupported(path.child('selectPolicy'), selectPolicy, SELECT_POLICIES))
  if (policies.length === 0) errors.push(required(path.child('policies'), 'must specify at least one Policy'))
  policies.forEach((policy, i) => {
    checkPolicy(policy, path.child('policies').index(i), errors)
  })
  const parsed = tolerance === undefined ? undefined : parseQuantity(String(tolerance))
  if (parsed && isNegative(parsed)) errors.push(invalid(path.child('tolerance'), String(tolerance), NOT_NEGATIVE))
}

function checkPolicy(policy: HPAScalingPolicy, path: FieldPath, errors: FieldError[]): void {
  const { type = '', value = 0, periodSeconds = 0 } = policy
  if (!POLICY_TYPES.includes(type)) errors.push(notSupported(path.child('type'), type, POLICY_TYPES))
  if (value <= 0) errors.push(invalid(path.child('value'), value, 'must be greater than zero'))
  if (periodSeconds <= 0) errors.push(invalid(path.child('periodSeconds'), periodSeconds, 'must be greater than zero'))
  if (periodSeconds > MAX_PERIOD)
    errors.push(invalid(path.child('periodSeconds'), periodSeconds, `must be less than or equal to ${MAX_PERIOD}`))
}

export function validateHorizontalPodAutoscalerStatus(autoscaler: HorizontalPodAutoscaler): FieldError[] {
  const errors: FieldError[] = []
  checkNotNegative(errors, STATUS, 'currentReplicas', autoscaler.status?.currentReplicas)
  checkNotNegative(errors, STATUS, 'desiredReplicas', autoscaler.status?.desiredReplicas)
  return errors
}
