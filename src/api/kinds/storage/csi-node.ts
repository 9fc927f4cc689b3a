import { deepEqual } from '../../../base/deep-equal.ts'
import type { CSINode, CSINodeDriver } from '../../generated/storage-v1.ts'
import { defineKind } from '../../kind.ts'
import { duplicate, type FieldError, invalid, required } from '../../meta/field-error.ts'
import { FieldPath } from '../../meta/field-path.ts'
import { isQualifiedName } from '../../meta/names.ts'
import { seenBefore } from '../../meta/seen-before.ts'
import { validateCsiDriverName } from '../core/persistent-volume/sources.ts'
import { ageColumn, column, nameColumn } from '../core/printed-columns.ts'

const DRIVERS = FieldPath.root('spec').child('drivers')
const MAX_NODE_ID = 256

export const csiNodeKind = defineKind<CSINode>({
  group: 'storage.k8s.io',
  version: 'v1',
  kind: 'CSINode',
  plural: 'csinodes',
  namespaced: false,
  schema: 'io.k8s.api.storage.v1.CSINode',
  unconditionalUpdate: false,
  validate,
  validateUpdate,
  columns: [
    nameColumn,
    column<CSINode>(
      'Drivers',
      'How many CSI drivers the node has.',
      (node) => node.spec?.drivers?.length ?? 0,
      'integer',
    ),
    ageColumn,
  ],
})

function validate({ spec }: CSINode): FieldError[] {
  const errors: FieldError[] = []
  const names = new Set<string>()
  spec?.drivers?.forEach((driver, index) => {
    const path = DRIVERS.index(index)
    errors.push(...validateDriver(driver, path))
    if (names.has(driver.name)) errors.push(duplicate(path.child('name'), driver.name))
    names.add(driver.name)
  })
  return errors
}

function validateDriver(driver: CSINodeDriver, path: FieldPath): FieldError[] {
  const errors = validateCsiDriverName(driver.name ?? '', path.child('name'))
  const nodeID = driver.nodeID ?? ''
  if (nodeID === '') errors.push(required(path.child('nodeID')))
  if (Buffer.byteLength(nodeID) > MAX_NODE_ID)
    errors.push(invalid(path.child('nodeID'), nodeID, `must be ${MAX_NODE_ID} characters or less`))
  const count = driver.allocatable?.count
  if (count !== undefined && count < 0)
    errors.push(invalid(path.child('allocatable', 'count'), count, 'must be greater than or equal to 0'))
  const isRepeated = seenBefore<string>()
  driver.topologyKeys?.forEach((key) => {
    if (key === '') errors.push(required(path))
    if (isRepeated(key)) errors.push(duplicate(path, key))
    for (const message of isQualifiedName(key)) errors.push(invalid(path, key, message))
  })
  return errors
}

/** What a driver said of itself is fixed, but for how many volumes it takes. */
function validateUpdate({ spec }: CSINode, old: CSINode): FieldError[] {
  const known = new Map(old.spec?.drivers?.map((driver) => [driver.name, driver]))
  return (spec?.drivers ?? []).flatMap((driver) => {
    const before = known.get(driver.name)
    if (!before || deepEqual({ ...driver, allocatable: undefined }, { ...before, allocatable: undefined })) return []
    return [invalid(DRIVERS, driver, 'field is immutable')]
  })
}
