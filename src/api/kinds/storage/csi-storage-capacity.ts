import type { CSIStorageCapacity } from '../../generated/storage-v1.ts'
import { defineKind } from '../../kind.ts'
import { type FieldError, invalid } from '../../meta/field-error.ts'
import { FieldPath } from '../../meta/field-path.ts'
import { validateLabelSelector } from '../../meta/label-selector.ts'
import { nameIsDnsSubdomain } from '../../meta/names.ts'
import { canonicalQuantity, parseQuantity } from '../../meta/quantity.ts'
import { immutable } from '../core/immutable.ts'
import { column, nameColumn } from '../core/printed-columns.ts'
import { validateNonnegative } from '../core/resource-list.ts'

const CLASS = FieldPath.root('storageClassName')
const TOPOLOGY = FieldPath.root('nodeTopology')
const AMOUNTS = ['capacity', 'maximumVolumeSize'] as const

export const csiStorageCapacityKind = defineKind<CSIStorageCapacity>({
  group: 'storage.k8s.io',
  version: 'v1',
  kind: 'CSIStorageCapacity',
  plural: 'csistoragecapacities',
  schema: 'io.k8s.api.storage.v1.CSIStorageCapacity',
  unconditionalUpdate: false,
  defaults: (draft) => {
    for (const field of AMOUNTS) {
      const amount = draft[field] === undefined ? undefined : canonicalQuantity(String(draft[field]))
      if (amount !== undefined) draft[field] = amount
    }
  },
  validate,
  validateUpdate: (capacity, old) => [
    ...immutable(TOPOLOGY, capacity.nodeTopology, old.nodeTopology),
    ...immutable(CLASS, capacity.storageClassName, old.storageClassName),
  ],
  columns: [
    nameColumn,
    column<CSIStorageCapacity>('StorageClassName', 'The class this is about.', (c) => c.storageClassName ?? ''),
    column<CSIStorageCapacity>('Capacity', 'How much is free.', (c) => String(c.capacity ?? '<unset>')),
  ],
})

function validate(capacity: CSIStorageCapacity): FieldError[] {
  const name = capacity.storageClassName ?? ''
  const errors = nameIsDnsSubdomain(name, false).map((message) => invalid(CLASS, name, message))
  for (const field of AMOUNTS) {
    const amount = capacity[field]
    if (amount !== undefined) errors.push(...validateNonnegative(parseQuantity(String(amount)), FieldPath.root(field)))
  }
  errors.push(...validateLabelSelector(capacity.nodeTopology, TOPOLOGY))
  return errors
}
