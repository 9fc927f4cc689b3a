import { deepEqual } from '../../../../base/deep-equal.ts'
import type { Event } from '../../../generated/core-v1.ts'
import { type FieldError, invalid, required } from '../../../meta/field-error.ts'
import { FieldPath } from '../../../meta/field-path.ts'
import { isDns1123Subdomain, isQualifiedName } from '../../../meta/names.ts'
import { parseTime } from '../../../meta/time.ts'
import { NAMESPACE } from '../../../meta/well-known.ts'
import { immutable } from '../immutable.ts'

const MAX_LENGTHS = { reportingInstance: 128, action: 128, reason: 128 } as const
const MAX_MESSAGE = 1024
const at = (...names: [string, ...string[]]) => FieldPath.root(names[0]).child(...names.slice(1))

/** The rules for events of either API; `reportingField` is what the API calls the reporting controller. */
export function validateEvent(event: Event, reportingField: string): FieldError[] {
  const errors: FieldError[] = []
  const namespace = event.metadata.namespace ?? ''
  if (!isInNamespaceOfObject(event, namespace)) {
    const about = event.involvedObject?.namespace ?? ''
    errors.push(invalid(at('involvedObject', 'namespace'), about, 'does not match event.namespace'))
  }
  if (event.eventTime) errors.push(...validateReporter(event, reportingField))
  for (const message of isDns1123Subdomain(namespace)) errors.push(invalid(at('namespace'), namespace, message))
  return errors
}

/** Events about cluster-scoped objects go to a few well-known namespaces; only the newer recorder sets `eventTime`. */
function isInNamespaceOfObject(event: Event, namespace: string): boolean {
  const about = event.involvedObject?.namespace ?? ''
  if (about !== '') return Boolean(event.eventTime) || about === namespace
  return namespace === 'default' || namespace === (event.eventTime ? NAMESPACE.system : '')
}

function validateReporter(event: Event, reportingField: string): FieldError[] {
  const errors: FieldError[] = []
  const reporter = event.reportingComponent ?? ''
  if (reporter === '') errors.push(required(at(reportingField)))
  for (const message of isQualifiedName(reporter)) errors.push(invalid(at(reportingField), reporter, message))
  for (const [field, maximum] of Object.entries(MAX_LENGTHS) as [keyof typeof MAX_LENGTHS, number][]) {
    const value = event[field] ?? ''
    if (value === '') errors.push(required(at(field)))
    if (Buffer.byteLength(value) > maximum)
      errors.push(invalid(at(field), '', `can have at most ${maximum} characters`))
  }
  if (Buffer.byteLength(event.message ?? '') > MAX_MESSAGE)
    errors.push(invalid(at('message'), '', `can have at most ${MAX_MESSAGE} characters`))
  return errors
}

/** What `events.k8s.io` asks of a new event besides: fields of the older recorder stay unset. */
export function validateNewEvent(event: Event): FieldError[] {
  const errors = validateSeries(event)
  const type = event.type ?? ''
  if (!event.eventTime) errors.push(required(at('eventTime')))
  if (type !== 'Normal' && type !== 'Warning') errors.push(invalid(at('type'), '', `has invalid value: ${type}`))
  const deprecated = { firstTimestamp: event.firstTimestamp, lastTimestamp: event.lastTimestamp, count: event.count }
  for (const [field, value] of Object.entries(deprecated))
    if (value) errors.push(invalid(at(field), '', 'needs to be unset'))
  if (event.source?.component || event.source?.host) errors.push(invalid(at('source'), '', 'needs to be unset'))
  return errors
}

const FIXED = [
  'involvedObject',
  'reason',
  'message',
  'source',
  'firstTimestamp',
  'lastTimestamp',
  'count',
  'type',
  'action',
  'related',
  'reportingInstance',
] as const

/** Through `events.k8s.io` only the series of an event may change. */
export function validateEventUpdate(event: Event, old: Event): FieldError[] {
  const errors = deepEqual(event.series, old.series) ? [] : validateSeries(event)
  for (const field of FIXED) errors.push(...immutable(at(field), event[field] ?? undefined, old[field] ?? undefined))
  errors.push(...immutable(at('reportingController'), event.reportingComponent, old.reportingComponent))
  if (microseconds(event.eventTime) !== microseconds(old.eventTime))
    errors.push(invalid(at('eventTime'), event.eventTime, 'field is immutable'))
  return errors
}

const microseconds = (time: string | undefined | null) => (time ? Math.round((parseTime(time) ?? 0) * 1000) : 0)

function validateSeries({ series }: Event): FieldError[] {
  if (!series) return []
  const errors: FieldError[] = []
  if ((series.count ?? 0) < 2) errors.push(invalid(at('series.count'), '', 'should be at least 2'))
  if (!series.lastObservedTime) errors.push(required(at('series.lastObservedTime')))
  return errors
}
