import type { Event as CoreEvent } from '../../generated/core-v1.ts'
import type { Event } from '../../generated/events-v1.ts'
import { type Column, defineKind } from '../../kind.ts'
import type { FieldError } from '../../meta/field-error.ts'
import { eventColumns } from '../core/event/columns.ts'
import { validateEvent, validateEventUpdate, validateNewEvent } from '../core/event/validation.ts'
import { renameToCore, renameToEvents } from './conversion.ts'

/** The events of core/v1 under newer names. Stored in the core form. */
export const eventsEventKind = defineKind<Event>({
  group: 'events.k8s.io',
  version: 'v1',
  kind: 'Event',
  plural: 'events',
  shortNames: ['ev'],
  schema: 'io.k8s.api.events.v1.Event',
  createOnUpdate: true,
  conversion: {
    storage: { group: '', version: 'v1', plural: 'events' },
    toStorage: renameToCore,
    fromStorage: renameToEvents,
  },
  validate,
  validateUpdate: (event, old) => validateEventUpdate(asCore(event), asCore(old)),
  selectableFields: {
    'regarding.kind': (event) => event.regarding?.kind ?? '',
    'regarding.namespace': (event) => event.regarding?.namespace ?? '',
    'regarding.name': (event) => event.regarding?.name ?? '',
    'regarding.uid': (event) => event.regarding?.uid ?? '',
    'regarding.apiVersion': (event) => event.regarding?.apiVersion ?? '',
    'regarding.resourceVersion': (event) => event.regarding?.resourceVersion ?? '',
    'regarding.fieldPath': (event) => event.regarding?.fieldPath ?? '',
    reason: (event) => event.reason ?? '',
    reportingController: (event) => event.reportingController ?? '',
    type: (event) => event.type ?? '',
  },
  columns: eventColumns.map(
    (column): Column<Event> => ({ ...column, value: (event, now) => column.value(asCore(event), now) }),
  ),
})

/** A core view of an event, for rules and columns that are the same in both APIs. */
function asCore(event: Event): CoreEvent {
  const view = { ...event }
  renameToCore(view)
  return view as unknown as CoreEvent
}

function validate(event: Event): FieldError[] {
  const core = asCore(event)
  const errors = validateEvent(core, 'reportingController')
  // An event that was read from the store has a version: older events may still be updated through this API.
  if (event.metadata.resourceVersion === undefined) errors.push(...validateNewEvent(core))
  return errors
}
