import type { VolumeAttachment, VolumeError } from '../../generated/storage-v1.ts'
import { defineKind } from '../../kind.ts'
import { type FieldError, forbidden, invalid, required, tooLong } from '../../meta/field-error.ts'
import { FieldPath } from '../../meta/field-path.ts'
import { nameIsDnsSubdomain } from '../../meta/names.ts'
import { keepField, statusSubresource } from '../../strategy.ts'
import { immutable } from '../core/immutable.ts'
import { validateCsiDriverName } from '../core/persistent-volume/sources.ts'
import { ageColumn, column, nameColumn } from '../core/printed-columns.ts'

const SPEC = FieldPath.root('spec')
const SOURCE = SPEC.child('source')
const STATUS = FieldPath.root('status')
const MAX_METADATA_BYTES = 256 * 1024
const MAX_MESSAGE_BYTES = 1024

export const volumeAttachmentKind = defineKind<VolumeAttachment>({
  group: 'storage.k8s.io',
  version: 'v1',
  kind: 'VolumeAttachment',
  plural: 'volumeattachments',
  namespaced: false,
  schema: 'io.k8s.api.storage.v1.VolumeAttachment',
  unconditionalUpdate: false,
  prepareCreate: (draft) => {
    draft.status = { attached: false }
  },
  prepareUpdate: (draft, old) => keepField(draft, old, 'status'),
  validate,
  validateUpdate: (attachment, old) => immutable(SPEC, attachment.spec, old.spec),
  columns: [
    nameColumn,
    {
      ...column<VolumeAttachment>('Attacher', 'The driver that attaches.', (a) => a.spec?.attacher ?? ''),
      format: 'name',
    },
    column<VolumeAttachment>('PV', 'Which volume is attached.', (a) => a.spec?.source?.persistentVolumeName ?? ''),
    column<VolumeAttachment>('Node', 'The node it is attached to.', (a) => a.spec?.nodeName ?? ''),
    column<VolumeAttachment>('Attached', 'Whether it is attached now.', (a) => a.status?.attached ?? false, 'boolean'),
    ageColumn,
  ],
  subresources: { status: statusSubresource<VolumeAttachment>() },
})

function validate({ spec, status }: VolumeAttachment): FieldError[] {
  const errors = validateCsiDriverName(spec?.attacher ?? '', SPEC.child('attacher'))
  const { inlineVolumeSpec, persistentVolumeName: name } = spec?.source ?? {}
  if ((inlineVolumeSpec === undefined) === (name === undefined)) {
    const complain = name === undefined ? required : forbidden
    errors.push(complain(SOURCE, 'must specify exactly one of inlineVolumeSpec and persistentVolumeName'))
  } else if (name === '')
    errors.push(required(SOURCE.child('persistentVolumeName'), 'must specify non empty persistentVolumeName'))
  else if (name !== undefined)
    for (const message of nameIsDnsSubdomain(name, false))
      errors.push(invalid(SOURCE.child('persistentVolumeName'), name, message))
  for (const message of nameIsDnsSubdomain(spec?.nodeName ?? '', false))
    errors.push(invalid(SPEC.child('nodeName'), spec?.nodeName ?? '', message))
  errors.push(...validateMetadata(status?.attachmentMetadata))
  for (const field of ['attachError', 'detachError'] as const)
    errors.push(...validateError(status?.[field], STATUS.child(field)))
  return errors
}

function validateMetadata(metadata: Record<string, string> | undefined): FieldError[] {
  let size = 0
  for (const key in metadata) size += Buffer.byteLength(key) + Buffer.byteLength(metadata[key]!)
  return size > MAX_METADATA_BYTES ? [tooLong(STATUS.child('attachmentMetadata'), MAX_METADATA_BYTES)] : []
}

function validateError(error: VolumeError | undefined, path: FieldPath): FieldError[] {
  return Buffer.byteLength(error?.message ?? '') > MAX_MESSAGE_BYTES
    ? [tooLong(path.child('message'), MAX_MESSAGE_BYTES)]
    : []
}
