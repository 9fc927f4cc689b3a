import type { Container, ContainerRestartRule } from '../../../generated/core-v1.ts'
import { type FieldError, forbidden, notSupported, required, tooMany } from '../../../meta/field-error.ts'
import type { FieldPath } from '../../../meta/field-path.ts'

const POLICIES = ['Always', 'Never', 'OnFailure']
const ACTIONS = ['Restart', 'RestartAllContainers']
const OPERATORS = ['In', 'NotIn']
const MAX_RULES = 20
const MAX_EXIT_CODES = 255
const POLICY_NEEDED = 'must specify restartPolicy when restart rules are used'

/** `restartPolicy` and its rules on a regular container (KEP-5307). */
export function validateRestartPolicy(container: Container, path: FieldPath, errors: FieldError[]): void {
  const { restartPolicy, restartPolicyRules: rules = [] } = container
  if (restartPolicy === undefined) {
    if (rules.length > 0) errors.push(required(path.child('restartPolicy'), POLICY_NEEDED))
  } else if (!POLICIES.includes(restartPolicy)) {
    errors.push(notSupported(path.child('restartPolicy'), restartPolicy, POLICIES))
  }
  if (rules.length > MAX_RULES) errors.push(tooMany(path.child('restartPolicyRules'), rules.length, MAX_RULES))
  rules.forEach((rule, i) => {
    checkRule(rule, path.child('restartPolicyRules').index(i), errors)
  })
}

/** On an init container `Always` makes it a sidecar, which restarts anyway. */
export function validateInitRestartPolicy(container: Container, path: FieldPath, errors: FieldError[]): void {
  if (container.restartPolicy === 'Always' && container.restartPolicyRules?.length)
    errors.push(
      forbidden(
        path.child('restartPolicyRules'),
        'restartPolicyRules are not allowed for init containers with restart policy Always',
      ),
    )
  validateRestartPolicy(container, path, errors)
}

function checkRule(rule: ContainerRestartRule, path: FieldPath, errors: FieldError[]): void {
  if (!ACTIONS.includes(rule.action)) errors.push(notSupported(path.child('action'), rule.action ?? '', ACTIONS))
  const { exitCodes } = rule
  if (!exitCodes) {
    errors.push(required(path.child('exitCodes'), 'must be specified'))
    return
  }
  if (!OPERATORS.includes(exitCodes.operator))
    errors.push(notSupported(path.child('exitCodes', 'operator'), exitCodes.operator ?? '', OPERATORS))
  const count = exitCodes.values?.length ?? 0
  if (count > MAX_EXIT_CODES) errors.push(tooMany(path.child('exitCodes', 'values'), count, MAX_EXIT_CODES))
}
