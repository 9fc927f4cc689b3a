import type { Container, Probe } from '../../../generated/core-v1.ts'
import { invalid } from '../../../meta/field-error.ts'
import type { FieldPath } from '../../../meta/field-path.ts'
import { validateHandler } from './handlers-validation.ts'
import { checkNotNegative, type PodCheck } from './pod-check.ts'

const COUNTS = [
  'initialDelaySeconds',
  'timeoutSeconds',
  'periodSeconds',
  'successThreshold',
  'failureThreshold',
] as const

export function validateProbes(check: PodCheck, container: Container, path: FieldPath): void {
  const { livenessProbe, readinessProbe, startupProbe } = container
  if (livenessProbe) {
    const at = path.child('livenessProbe')
    checkProbe(check, livenessProbe, at)
    checkOneSuccess(check, livenessProbe, at)
  }
  if (readinessProbe) {
    const at = path.child('readinessProbe')
    checkProbe(check, readinessProbe, at)
    // Failing readiness stops no container, so there is nothing to be graceful about.
    const grace = readinessProbe.terminationGracePeriodSeconds
    if (grace !== undefined)
      check.errors.push(
        invalid(at.child('terminationGracePeriodSeconds'), grace, 'must not be set for readinessProbes'),
      )
  }
  if (startupProbe) {
    const at = path.child('startupProbe')
    checkProbe(check, startupProbe, at)
    checkOneSuccess(check, startupProbe, at)
  }
}

function checkProbe(check: PodCheck, probe: Probe, path: FieldPath): void {
  validateHandler(check, probe, path)
  for (const field of COUNTS) checkNotNegative(check.errors, path, field, probe[field])
  const grace = probe.terminationGracePeriodSeconds
  if (grace !== undefined && grace <= 0)
    check.errors.push(invalid(path.child('terminationGracePeriodSeconds'), grace, 'must be greater than 0'))
}

function checkOneSuccess(check: PodCheck, probe: Probe, path: FieldPath): void {
  if ((probe.successThreshold ?? 0) !== 1)
    check.errors.push(invalid(path.child('successThreshold'), probe.successThreshold, 'must be 1'))
}
