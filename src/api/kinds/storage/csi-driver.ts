import type { CSIDriver, CSIDriverSpec, TokenRequest } from '../../generated/storage-v1.ts'
import { defineKind } from '../../kind.ts'
import { duplicate, type FieldError, invalid, notSupported } from '../../meta/field-error.ts'
import { FieldPath } from '../../meta/field-path.ts'
import { raiseGeneration } from '../../strategy.ts'
import { immutable } from '../core/immutable.ts'
import { validateCsiDriverName } from '../core/persistent-volume/sources.ts'
import { ageColumn, column, nameColumn } from '../core/printed-columns.ts'

const SPEC = FieldPath.root('spec')
const FS_GROUP_POLICIES = ['File', 'None', 'ReadWriteOnceWithFSType']
const LIFECYCLE_MODES = ['Persistent', 'Ephemeral']

export const csiDriverKind = defineKind<CSIDriver>({
  group: 'storage.k8s.io',
  version: 'v1',
  kind: 'CSIDriver',
  plural: 'csidrivers',
  namespaced: false,
  schema: 'io.k8s.api.storage.v1.CSIDriver',
  unconditionalUpdate: false,
  defaults,
  prepareUpdate: raiseGeneration,
  validate,
  validateUpdate,
  columns: [
    nameColumn,
    flag('AttachRequired', 'Whether volumes are attached before they are mounted.', 'attachRequired'),
    flag('PodInfoOnMount', 'Whether the driver is told about the pod.', 'podInfoOnMount'),
    flag('StorageCapacity', 'Whether pods are scheduled by free capacity.', 'storageCapacity'),
    column<CSIDriver>('TokenRequests', 'Audiences of the tokens the driver gets.', tokenAudiences),
    flag('RequiresRepublish', 'Whether volumes are published again and again.', 'requiresRepublish'),
    column<CSIDriver>(
      'Modes',
      'Kinds of volumes the driver has.',
      (driver) => driver.spec?.volumeLifecycleModes?.join(',') || '<none>',
    ),
    ageColumn,
  ],
})

function flag(
  name: string,
  description: string,
  field: 'attachRequired' | 'podInfoOnMount' | 'storageCapacity' | 'requiresRepublish',
) {
  const missing = field === 'attachRequired'
  return column<CSIDriver>(name, description, (driver) => driver.spec?.[field] ?? missing, 'boolean')
}

function tokenAudiences({ spec }: CSIDriver): string {
  return spec?.tokenRequests?.map(({ audience }) => audience ?? '').join(',') ?? '<unset>'
}

function defaults(draft: CSIDriver): void {
  draft.spec ??= {}
  const { spec } = draft
  spec.attachRequired ??= true
  spec.podInfoOnMount ??= false
  spec.storageCapacity ??= false
  spec.fsGroupPolicy ??= 'ReadWriteOnceWithFSType'
  if (!spec.volumeLifecycleModes?.length) spec.volumeLifecycleModes = ['Persistent']
  spec.requiresRepublish ??= false
  spec.seLinuxMount ??= false
}

function validate({ metadata, spec }: CSIDriver): FieldError[] {
  const errors = validateCsiDriverName(metadata.name ?? '', FieldPath.root('name'))
  errors.push(...validateTokenRequests(spec.tokenRequests ?? [], SPEC.child('tokenRequests')))
  if (spec.fsGroupPolicy !== undefined && !FS_GROUP_POLICIES.includes(spec.fsGroupPolicy))
    errors.push(notSupported(SPEC.child('fsGroupPolicy'), spec.fsGroupPolicy, FS_GROUP_POLICIES))
  for (const mode of spec.volumeLifecycleModes ?? [])
    if (!LIFECYCLE_MODES.includes(mode))
      errors.push(notSupported(SPEC.child('volumeLifecycleModes'), mode, LIFECYCLE_MODES))
  errors.push(...validateDetails(spec))
  return errors
}

function validateDetails(spec: CSIDriverSpec): FieldError[] {
  const errors: FieldError[] = []
  const period = spec.nodeAllocatableUpdatePeriodSeconds
  if (period !== undefined && period < 10)
    errors.push(
      invalid(SPEC.child('nodeAllocatableUpdatePeriodSeconds'), period, 'must be greater than or equal to 10 seconds'),
    )
  const inSecrets = spec.serviceAccountTokenInSecrets
  if (inSecrets !== undefined && !spec.tokenRequests?.length) {
    const message = 'serviceAccountTokenInSecrets is set but no tokenRequests are specified'
    errors.push(invalid(SPEC.child('serviceAccountTokenInSecrets'), inSecrets, message))
  }
  return errors
}

function validateTokenRequests(requests: readonly TokenRequest[], path: FieldPath): FieldError[] {
  const errors: FieldError[] = []
  const audiences = new Set<string>()
  requests.forEach(({ audience = '', expirationSeconds: seconds }, index) => {
    const at = path.index(index)
    if (audiences.has(audience)) errors.push(duplicate(at.child('audience'), audience))
    audiences.add(audience)
    if (seconds !== undefined && seconds < 600)
      errors.push(invalid(at.child('expirationSeconds'), seconds, 'may not specify a duration less than 10 minutes'))
    if (seconds !== undefined && seconds > 2 ** 32)
      errors.push(
        invalid(at.child('expirationSeconds'), seconds, 'may not specify a duration larger than 2^32 seconds'),
      )
  })
  return errors
}

function validateUpdate({ spec }: CSIDriver, { spec: old }: CSIDriver): FieldError[] {
  return [
    ...immutable(SPEC.child('attachedRequired'), spec.attachRequired, old.attachRequired),
    ...immutable(SPEC.child('volumeLifecycleModes'), spec.volumeLifecycleModes, old.volumeLifecycleModes),
  ]
}
