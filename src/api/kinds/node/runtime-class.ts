import type { Toleration } from '../../generated/core-v1.ts'
import type { RuntimeClass } from '../../generated/node-v1.ts'
import { defineKind } from '../../kind.ts'
import { duplicate, type FieldError, invalid, notSupported, required } from '../../meta/field-error.ts'
import { FieldPath } from '../../meta/field-path.ts'
import { validateLabelName, validateLabels } from '../../meta/labels-validation.ts'
import { isDns1123Label, isLabelValue } from '../../meta/names.ts'
import { immutable } from '../core/immutable.ts'
import { ageColumn, column, nameColumn } from '../core/printed-columns.ts'
import { canonicalizeResources, quantityIn, type ResourceList, validateResourceAmount } from '../core/resource-list.ts'
import { validateContainerResourceName } from '../core/resource-names.ts'

const HANDLER = FieldPath.root('handler')
const POD_FIXED = FieldPath.root('overhead').child('podFixed')
const SCHEDULING = FieldPath.root('scheduling')
const EFFECTS = ['NoSchedule', 'PreferNoSchedule', 'NoExecute']

export const runtimeClassKind = defineKind<RuntimeClass>({
  group: 'node.k8s.io',
  version: 'v1',
  kind: 'RuntimeClass',
  plural: 'runtimeclasses',
  namespaced: false,
  schema: 'io.k8s.api.node.v1.RuntimeClass',
  createOnUpdate: true,
  unconditionalUpdate: false,
  defaults: (draft) => canonicalizeResources(draft.overhead?.podFixed),
  validate,
  validateUpdate: (runtime, old) => immutable(HANDLER, runtime.handler, old.handler),
  columns: [
    nameColumn,
    column<RuntimeClass>('Handler', 'What the container runtime calls it.', (runtime) => runtime.handler ?? ''),
    ageColumn,
  ],
})

function validate(runtime: RuntimeClass): FieldError[] {
  const errors: FieldError[] = runtime.handler
    ? isDns1123Label(runtime.handler).map((message) => invalid(HANDLER, runtime.handler, message))
    : [required(HANDLER)]
  errors.push(...validateOverhead(runtime.overhead?.podFixed))
  errors.push(...validateLabels(runtime.scheduling?.nodeSelector, SCHEDULING.child('nodeSelector')))
  errors.push(...validateTolerations(runtime.scheduling?.tolerations ?? [], SCHEDULING.child('tolerations')))
  return errors
}

function validateOverhead(list: ResourceList | undefined): FieldError[] {
  const errors: FieldError[] = []
  for (const name in list) {
    errors.push(...validateContainerResourceName(name, POD_FIXED.key(name)))
    errors.push(...validateResourceAmount(name, quantityIn(list, name), POD_FIXED.key(name)))
  }
  return errors
}

function validateTolerations(tolerations: readonly Toleration[], path: FieldPath): FieldError[] {
  const errors: FieldError[] = []
  const seen = new Set<string>()
  tolerations.forEach((toleration, index) => {
    errors.push(...validateToleration(toleration, path.index(index)))
    const key = JSON.stringify([toleration.key, toleration.operator, toleration.value, toleration.effect])
    if (seen.has(key)) errors.push(duplicate(path.index(index), toleration))
    seen.add(key)
  })
  return errors
}

function validateToleration(toleration: Toleration, path: FieldPath): FieldError[] {
  const { key = '', operator = '', value = '', effect = '', tolerationSeconds } = toleration
  const errors: FieldError[] = key === '' ? [] : validateLabelName(key, path.child('key'))
  if (key === '' && operator !== 'Exists')
    errors.push(
      invalid(
        path.child('operator'),
        operator,
        'operator must be Exists when `key` is empty, which means "match all values and all keys"',
      ),
    )
  if (tolerationSeconds !== undefined && effect !== 'NoExecute')
    errors.push(invalid(path.child('effect'), effect, "effect must be 'NoExecute' when `tolerationSeconds` is set"))
  if (operator === 'Exists' && value !== '')
    errors.push(invalid(path, toleration, "value must be empty when `operator` is 'Exists'"))
  else if (operator === '' || operator === 'Equal')
    for (const message of isLabelValue(value)) errors.push(invalid(path.child('operator'), value, message))
  else if (operator !== 'Exists') errors.push(notSupported(path.child('operator'), operator, ['Equal', 'Exists']))
  if (effect !== '' && !EFFECTS.includes(effect)) errors.push(notSupported(path.child('effect'), effect, EFFECTS))
  return errors
}
