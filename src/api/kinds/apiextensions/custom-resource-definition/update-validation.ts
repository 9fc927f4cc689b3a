import type { CustomResourceDefinition } from '../../../generated/apiextensions-v1.ts'
import { isConditionTrue } from '../../../meta/conditions.ts'
import { type FieldError, invalid } from '../../../meta/field-error.ts'
import { FieldPath } from '../../../meta/field-path.ts'
import { immutable } from '../../core/immutable.ts'

const SPEC = FieldPath.root('spec')
const STORED = FieldPath.root('status').child('storedVersions')

export function validateDefinitionUpdate(
  definition: CustomResourceDefinition,
  old: CustomResourceDefinition,
): FieldError[] {
  const [spec, before] = [definition.spec, old.spec]
  const errors: FieldError[] = []
  // Once objects are served, changing these would lose them.
  if (isConditionTrue(old.status?.conditions, 'Established')) {
    errors.push(...immutable(SPEC.child('scope'), spec?.scope, before?.scope))
    errors.push(...immutable(SPEC.child('names', 'kind'), spec?.names?.kind, before?.names?.kind))
  }
  errors.push(...immutable(SPEC.child('group'), spec?.group, before?.group))
  errors.push(...immutable(SPEC.child('names', 'plural'), spec?.names?.plural, before?.names?.plural))
  return [...errors, ...validateStoredVersions(definition)]
}

export function validateStoredVersions({ spec, status }: CustomResourceDefinition): FieldError[] {
  const stored = status?.storedVersions ?? []
  if (stored.length === 0) return [invalid(STORED, stored, 'must have at least one stored version')]
  const errors: FieldError[] = []
  const known = new Set(stored)
  for (const version of spec?.versions ?? [])
    if (version.storage && !known.has(version.name))
      errors.push(invalid(STORED, stored, `must have the storage version ${version.name}`))
  const served = new Set(spec?.versions?.map((version) => version.name))
  stored.forEach((name, index) => {
    if (!served.has(name)) errors.push(invalid(STORED.index(index), name, missingVersion(name)))
  })
  return errors
}

const missingVersion = (name: string) =>
  `missing from spec.versions; ${name} was previously a storage version, and must remain in spec.versions until a storage migration ensures no data remains persisted in ${name} and removes ${name} from status.storedVersions`
