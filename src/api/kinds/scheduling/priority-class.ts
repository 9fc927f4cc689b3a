import type { PriorityClass } from '../../generated/scheduling-v1.ts'
import { defineKind } from '../../kind.ts'
import { type FieldError, forbidden, notSupported } from '../../meta/field-error.ts'
import { FieldPath } from '../../meta/field-path.ts'
import { immutable } from '../core/immutable.ts'
import { ageColumn, column, nameColumn } from '../core/printed-columns.ts'

const NAME = FieldPath.root('metadata').child('name')
const VALUE = FieldPath.root('value')
const HIGHEST_USER_PRIORITY = 1_000_000_000
const POLICIES = ['Never', 'PreemptLowerPriority']

/** The classes the system itself uses; nobody else's may carry their prefix. */
const SYSTEM_CLASSES: Readonly<Record<string, number>> = {
  'system-cluster-critical': 2_000_000_000,
  'system-node-critical': 2_000_001_000,
}

export const priorityClassKind = defineKind<PriorityClass>({
  group: 'scheduling.k8s.io',
  version: 'v1',
  kind: 'PriorityClass',
  plural: 'priorityclasses',
  shortNames: ['pc'],
  namespaced: false,
  schema: 'io.k8s.api.scheduling.v1.PriorityClass',
  defaults: (draft) => {
    draft.preemptionPolicy ??= 'PreemptLowerPriority'
    draft.value ??= 0
  },
  prepareCreate: (draft) => {
    draft.metadata.generation = 1
  },
  validate,
  validateUpdate,
  columns: [
    nameColumn,
    column<PriorityClass>('Value', 'The priority itself.', (priority) => priority.value ?? 0, 'integer'),
    column<PriorityClass>(
      'Global-Default',
      'Whether pods without a class get this one.',
      (priority) => priority.globalDefault ?? false,
      'boolean',
    ),
    ageColumn,
    column<PriorityClass>(
      'PreemptionPolicy',
      'Whether pods of this class may evict others.',
      (priority) => priority.preemptionPolicy ?? '',
    ),
  ],
})

function validate(priority: PriorityClass): FieldError[] {
  const errors: FieldError[] = []
  const name = priority.metadata.name ?? ''
  if (name.startsWith('system-')) errors.push(...validateSystemClass(priority, name))
  else if ((priority.value ?? 0) > HIGHEST_USER_PRIORITY)
    errors.push(forbidden(VALUE, `maximum allowed value of a user defined priority is ${HIGHEST_USER_PRIORITY}`))
  if (priority.preemptionPolicy !== undefined && !POLICIES.includes(priority.preemptionPolicy))
    errors.push(notSupported(FieldPath.root('preemptionPolicy'), priority.preemptionPolicy, POLICIES))
  return errors
}

function validateSystemClass(priority: PriorityClass, name: string): FieldError[] {
  const reserved = "priority class names with 'system-' prefix are reserved for system use only. error: "
  const refuse = (error: string) => [forbidden(NAME, reserved + error)]
  if (!Object.hasOwn(SYSTEM_CLASSES, name)) return refuse(`${name} is not a known system priority class`)
  if (priority.value !== SYSTEM_CLASSES[name])
    return refuse(`value of ${name} PriorityClass must be ${SYSTEM_CLASSES[name]}`)
  return priority.globalDefault ? refuse(`globalDefault of ${name} PriorityClass must be false`) : []
}

function validateUpdate(priority: PriorityClass, old: PriorityClass): FieldError[] {
  const errors = priority.value === old.value ? [] : [forbidden(VALUE, 'may not be changed in an update.')]
  const path = FieldPath.root('preemptionPolicy')
  return [...errors, ...immutable(path, priority.preemptionPolicy, old.preemptionPolicy)]
}
