import type { Event } from '../../../generated/core-v1.ts'
import { defineKind } from '../../../kind.ts'
import { isPathSegmentName } from '../../../meta/names.ts'
import { eventColumns } from './columns.ts'
import { validateEvent } from './validation.ts'

/** Stored in this form; `events.k8s.io` shows the same objects under newer field names. */
export const eventKind = defineKind<Event>({
  group: '',
  version: 'v1',
  kind: 'Event',
  plural: 'events',
  shortNames: ['ev'],
  schema: 'io.k8s.api.core.v1.Event',
  createOnUpdate: true,
  validateName: isPathSegmentName,
  validate: (event) => validateEvent(event, 'reportingComponent'),
  selectableFields: {
    'involvedObject.kind': (event) => event.involvedObject?.kind ?? '',
    'involvedObject.namespace': (event) => event.involvedObject?.namespace ?? '',
    'involvedObject.name': (event) => event.involvedObject?.name ?? '',
    'involvedObject.uid': (event) => event.involvedObject?.uid ?? '',
    'involvedObject.apiVersion': (event) => event.involvedObject?.apiVersion ?? '',
    'involvedObject.resourceVersion': (event) => event.involvedObject?.resourceVersion ?? '',
    'involvedObject.fieldPath': (event) => event.involvedObject?.fieldPath ?? '',
    reason: (event) => event.reason ?? '',
    reportingComponent: (event) => event.reportingComponent ?? '',
    source: (event) => event.source?.component || (event.reportingComponent ?? ''),
    type: (event) => event.type ?? '',
  },
  columns: eventColumns,
})
