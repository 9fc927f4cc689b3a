import type { Device, ResourcePool, ResourceSlice, ResourceSliceSpec } from '../../generated/resource-v1.ts'
import { defineKind } from '../../kind.ts'
import { duplicate, type FieldError, invalid, required, tooLong, tooMany } from '../../meta/field-error.ts'
import { FieldPath } from '../../meta/field-path.ts'
import { isDns1123Label, isDns1123Subdomain, nameIsDnsSubdomain } from '../../meta/names.ts'
import { raiseGeneration } from '../../strategy.ts'
import { immutable } from '../core/immutable.ts'
import { validateNodeSelector } from '../core/node-selector.ts'
import { validateCsiDriverName } from '../core/persistent-volume/sources.ts'
import { ageColumn, column, nameColumn } from '../core/printed-columns.ts'

const SPEC = FieldPath.root('spec')
const MAX_DEVICES = 128
const MAX_ATTRIBUTES = 32
const MAX_POOL_NAME = 253
const PLACES = ['nodeName', 'nodeSelector', 'allNodes', 'perDeviceNodeSelection'] as const
const CHOICE = 'exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required'

export const resourceSliceKind = defineKind<ResourceSlice>({
  group: 'resource.k8s.io',
  version: 'v1',
  kind: 'ResourceSlice',
  plural: 'resourceslices',
  namespaced: false,
  schema: 'io.k8s.api.resource.v1.ResourceSlice',
  prepareCreate: (draft) => {
    draft.metadata.generation = 1
  },
  prepareUpdate: raiseGeneration,
  validate,
  validateUpdate,
  selectableFields: {
    'spec.nodeName': (slice) => slice.spec?.nodeName ?? '',
    'spec.driver': (slice) => slice.spec?.driver ?? '',
  },
  columns: [
    nameColumn,
    column<ResourceSlice>('Node', 'The node that has the devices.', (slice) => slice.spec?.nodeName ?? ''),
    column<ResourceSlice>('Driver', 'The driver that manages the devices.', (slice) => slice.spec?.driver ?? ''),
    column<ResourceSlice>('Pool', 'The pool the slice belongs to.', (slice) => slice.spec?.pool?.name ?? ''),
    ageColumn,
  ],
})

function validate({ spec }: ResourceSlice): FieldError[] {
  const errors = validateCsiDriverName(spec?.driver ?? '', SPEC.child('driver'))
  errors.push(...validatePool(spec?.pool), ...validatePlace(spec))
  if (spec?.sharedCounters && spec.devices)
    errors.push(invalid(SPEC, '', 'only one of `sharedCounters` or `devices` is allowed'))
  const devices = spec?.devices ?? []
  if (devices.length > MAX_DEVICES) errors.push(tooMany(SPEC.child('devices'), devices.length, MAX_DEVICES))
  const names = new Set<string>()
  devices.forEach((device, index) => {
    const path = SPEC.child('devices').index(index)
    errors.push(...validateDevice(device, path))
    if (names.has(device.name)) errors.push(duplicate(path, device.name))
    names.add(device.name)
  })
  return errors
}

function validatePool(pool: ResourcePool | undefined): FieldError[] {
  const path = SPEC.child('pool')
  const { name = '', generation = 0, resourceSliceCount: count = 0 } = pool ?? {}
  const errors: FieldError[] = []
  if (name === '') errors.push(required(path.child('name')))
  else if (Buffer.byteLength(name) > MAX_POOL_NAME) errors.push(tooLong(path.child('name'), MAX_POOL_NAME))
  else
    for (const part of name.split('/'))
      for (const message of isDns1123Subdomain(part)) errors.push(invalid(path.child('name'), part, message))
  if (count <= 0) errors.push(invalid(path.child('resourceSliceCount'), count, 'must be greater than zero'))
  if (generation < 0)
    errors.push(invalid(path.child('generation'), generation, 'must be greater than or equal to zero'))
  return errors
}

/** Where the devices can be used: one node, some nodes, all nodes, or each device says so itself. */
function validatePlace(spec: ResourceSliceSpec | undefined): FieldError[] {
  const set = PLACES.filter((field) => spec?.[field] !== undefined)
  if (set.length === 0) return [required(SPEC, CHOICE)]
  if (set.length > 1) {
    const shown = `{${set.map((field) => `\`${field}\``).join(', ')}}`
    return [invalid(SPEC, shown, `${CHOICE}, but multiple fields are set`)]
  }
  if (spec?.nodeName)
    return nameIsDnsSubdomain(spec.nodeName, false).map((m) => invalid(SPEC.child('nodeName'), spec.nodeName, m))
  if (spec?.nodeSelector) return validateNodeSelector(spec.nodeSelector, SPEC.child('nodeSelector'))
  const field = set[0]!
  const meaning =
    field === 'nodeName' ? 'must be either unset or set to a non-empty string' : 'must be either unset or set to true'
  return spec?.[field] === true ? [] : [invalid(SPEC.child(field), spec?.[field], meaning)]
}

function validateDevice(device: Device, path: FieldPath): FieldError[] {
  const name = device.name ?? ''
  const errors: FieldError[] =
    name === ''
      ? [required(path.child('name'))]
      : isDns1123Label(name).map((message) => invalid(path.child('name'), name, message))
  const count = Object.keys(device.attributes ?? {}).length + Object.keys(device.capacity ?? {}).length
  if (count > MAX_ATTRIBUTES)
    errors.push(invalid(path, count, `the total number of attributes and capacities must not exceed ${MAX_ATTRIBUTES}`))
  return errors
}

function validateUpdate({ spec }: ResourceSlice, { spec: old }: ResourceSlice): FieldError[] {
  return [
    ...immutable(SPEC.child('driver'), spec?.driver, old?.driver),
    ...immutable(SPEC.child('pool', 'name'), spec?.pool?.name, old?.pool?.name),
    ...immutable(SPEC.child('nodeName'), spec?.nodeName, old?.nodeName),
  ]
}
