import type { Binding } from '../../generated/core-v1.ts'
import { defineKind } from '../../kind.ts'
import { type FieldError, notSupported, required } from '../../meta/field-error.ts'
import { FieldPath } from '../../meta/field-path.ts'

const TARGET = FieldPath.root('target')

/** The scheduler's word that a pod goes to a node. Never stored: it takes effect on the pod. */
export const bindingKind = defineKind<Binding>({
  group: '',
  version: 'v1',
  kind: 'Binding',
  plural: 'bindings',
  verbs: ['create'],
  schema: 'io.k8s.api.core.v1.Binding',
  validate(binding) {
    const errors: FieldError[] = []
    const { kind = '', name = '' } = binding.target ?? {}
    if (kind !== '' && kind !== 'Node') errors.push(notSupported(TARGET.child('kind'), kind, ['Node', '<empty>']))
    if (name === '') errors.push(required(TARGET.child('name')))
    return errors
  },
})
