import type { Event } from '../../../generated/core-v1.ts'
import type { Column } from '../../../kind.ts'
import { age } from '../../../meta/time.ts'
import { column, nameColumn, wideColumn } from '../printed-columns.ts'

export const eventColumns: readonly Column<Event>[] = [
  column('Last Seen', 'When the event happened last.', lastSeen),
  column('Type', 'Normal or Warning.', (event) => event.type ?? ''),
  column('Reason', 'Why the event happened, in one word.', (event) => event.reason ?? ''),
  column('Object', 'What the event is about.', object),
  wideColumn('Subobject', 'Which part of the object.', (event) => event.involvedObject?.fieldPath ?? ''),
  wideColumn('Source', 'Who reported the event.', source),
  column('Message', 'What happened.', (event) => (event.message ?? '').trim()),
  wideColumn('First Seen', 'When the event happened first.', firstSeen),
  wideColumn('Count', 'How often the event happened.', count),
  { ...nameColumn, priority: 1 },
]

function firstSeen(event: Event, now: number): string {
  return age(event.firstTimestamp ?? event.eventTime ?? undefined, now)
}

function lastSeen(event: Event, now: number): string {
  if (event.series) return age(event.series.lastObservedTime ?? undefined, now)
  return event.lastTimestamp ? age(event.lastTimestamp, now) : firstSeen(event, now)
}

/** Events of the newer API have no count while they happened once. */
function count(event: Event): number {
  return event.series ? (event.series.count ?? 0) : event.count || 1
}

function object(event: Event): string {
  const { kind = '', name } = event.involvedObject ?? {}
  return name ? `${kind.toLowerCase()}/${name}` : kind.toLowerCase()
}

function source(event: Event): string {
  const component = event.source?.component || event.reportingComponent || ''
  const instance = event.source?.host || event.reportingInstance || ''
  return instance ? `${component}, ${instance}` : component
}
