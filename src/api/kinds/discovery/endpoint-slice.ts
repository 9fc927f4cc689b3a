import { deepEqual } from '../../../base/deep-equal.ts'
import type { EndpointSlice } from '../../generated/discovery-v1.ts'
import { defineKind } from '../../kind.ts'
import { type FieldError, invalid } from '../../meta/field-error.ts'
import { FieldPath } from '../../meta/field-path.ts'
import { ipWarnings } from '../../meta/ip-validation.ts'
import { LABEL } from '../../meta/well-known.ts'
import { ageColumn, column, nameColumn } from '../core/printed-columns.ts'
import { validateEndpointSlice } from './endpoint-slice-validation.ts'

/** The controllers write canonical addresses only, and often: their slices are not searched for bad ones. */
const CONTROLLERS = ['endpointslice-controller.k8s.io', 'endpointslicemirroring-controller.k8s.io']

export const endpointSliceKind = defineKind<EndpointSlice>({
  group: 'discovery.k8s.io',
  version: 'v1',
  kind: 'EndpointSlice',
  plural: 'endpointslices',
  schema: 'io.k8s.api.discovery.v1.EndpointSlice',
  defaults(draft) {
    for (const port of draft.ports ?? []) {
      port.name ??= ''
      port.protocol ??= 'TCP'
    }
  },
  prepareCreate(draft) {
    draft.metadata.generation = 1
    dropTopology(draft)
  },
  prepareUpdate(draft, old) {
    dropTopology(draft)
    const same =
      deepEqual(draft.endpoints ?? [], old.endpoints ?? []) &&
      deepEqual(draft.ports ?? [], old.ports ?? []) &&
      draft.addressType === old.addressType &&
      deepEqual(draft.metadata.labels ?? {}, old.metadata.labels ?? {})
    draft.metadata.generation = (old.metadata.generation ?? 0) + (same ? 0 : 1)
  },
  sharedItems: 'endpoints',
  validate: (slice) => validateEndpointSlice(slice),
  wholeUpdateValidation: true,
  validateUpdate(slice, old): FieldError[] {
    if (slice.addressType === old.addressType) return validateEndpointSlice(slice, old.endpoints)
    const immutable = invalid(FieldPath.root('addressType'), slice.addressType, 'field is immutable')
    return [...validateEndpointSlice(slice), immutable]
  },
  warnings: sliceWarnings,
  columns: [
    nameColumn,
    column<EndpointSlice>(
      'AddressType',
      'The kind of the addresses of all endpoints.',
      (slice) => slice.addressType ?? '',
    ),
    column<EndpointSlice>('Ports', 'Ports that every endpoint serves.', (slice) =>
      listWithMore(slice.ports ?? [], ({ port, name }) => (port === undefined ? (name ?? '*') : String(port))),
    ),
    column<EndpointSlice>('Endpoints', 'Addresses of the endpoints.', (slice) =>
      listWithMore(
        (slice.endpoints ?? []).flatMap((endpoint) => endpoint.addresses ?? []),
        (address) => address,
      ),
    ),
    ageColumn,
  ],
})

/** Zone and node have fields of their own in v1; the old map is never written. */
function dropTopology(draft: EndpointSlice): void {
  for (const endpoint of draft.endpoints ?? [])
    if (endpoint.deprecatedTopology !== undefined) delete endpoint.deprecatedTopology
}

function sliceWarnings(slice: EndpointSlice, old: EndpointSlice | undefined): string[] {
  const warnings =
    old === undefined && slice.addressType === 'FQDN' ? ['spec.addressType: FQDN endpoints are deprecated'] : []
  if (CONTROLLERS.includes(slice.metadata.labels?.[LABEL.sliceManagedBy] ?? '')) return warnings
  const path = FieldPath.root('endpoints')
  slice.endpoints?.forEach((endpoint, i) => {
    endpoint.addresses?.forEach((address, j) => {
      warnings.push(...ipWarnings(path.index(i).child('addresses').index(j), address))
    })
  })
  return warnings
}

const SHOWN = 3

function listWithMore<T>(items: readonly T[], print: (item: T) => string): string {
  const shown = items.slice(0, SHOWN).map(print).join(',')
  return items.length > SHOWN ? `${shown} + ${items.length - SHOWN} more...` : shown || '<unset>'
}
