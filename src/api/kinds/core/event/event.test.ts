import { describe, expect, it } from 'vitest'
import type { Event } from '../../../generated/core-v1.ts'
import { eventsEventKind } from '../../events/event.ts'
import { cells, describeRules, shownErrors } from '../rules.contract.ts'
import { eventKind } from './kind.ts'

const event = (): Event => ({
  metadata: { name: 'web.17a', namespace: 'shop' },
  involvedObject: { kind: 'Pod', namespace: 'shop', name: 'web' },
  reason: 'Pulled',
  message: ' pulled the image\n',
  type: 'Normal',
})
const newer: Partial<Event> = {
  eventTime: '2026-01-01T00:00:00.000000Z',
  reportingComponent: 'example.com/kubelet',
  reportingInstance: 'node-1',
  action: 'Pulling',
}

describeRules(eventKind, event(), [
  [
    'about another namespace',
    (draft) => {
      draft.involvedObject.namespace = 'other'
    },
    'involvedObject.namespace: Invalid value: "other": does not match event.namespace',
  ],
  [
    'about a cluster-scoped object, outside the default namespace',
    (draft) => {
      draft.involvedObject = { kind: 'Node' }
    },
    'involvedObject.namespace: Invalid value: "": does not match event.namespace',
  ],
  [
    'about a cluster-scoped object',
    (draft) => {
      draft.involvedObject = { kind: 'Node' }
      draft.metadata.namespace = 'default'
    },
  ],
  ['of the newer recorder', (draft) => Object.assign(draft, newer)],
  [
    'of the newer recorder, incomplete',
    (draft) => {
      draft.eventTime = newer.eventTime!
    },
    'reportingComponent: Required value',
    expect.stringMatching(/^reportingComponent: Invalid value: "": name part must be non-empty/) as never,
    expect.stringMatching(/^reportingComponent: Invalid value: "": name part must consist of/) as never,
    'reportingInstance: Required value',
    'action: Required value',
  ],
  [
    'a message that is too long',
    (draft) => Object.assign(draft, newer, { message: 'x'.repeat(1025) }),
    'message: Invalid value: "": can have at most 1024 characters',
  ],
])

describe('events.k8s.io', () => {
  const converted = (core: Event) => {
    const draft = structuredClone(core)
    eventsEventKind.conversion?.fromStorage(draft)
    return draft as never
  }

  it('shows the same event under newer names and back', () => {
    const core: Event = { ...event(), ...newer, source: { component: 'kubelet' }, count: 3 }
    const draft = converted(core)
    expect(draft).toMatchObject({
      regarding: { kind: 'Pod' },
      note: ' pulled the image\n',
      reportingController: 'example.com/kubelet',
      deprecatedSource: { component: 'kubelet' },
      deprecatedCount: 3,
    })
    eventsEventKind.conversion?.toStorage(draft)
    expect(draft).toEqual(core)
  })

  it.each([
    ['a new event', { ...event(), ...newer }, []],
    [
      'a new event without its time, with fields of the older API',
      { ...event(), type: 'Loud', count: 3, source: { host: 'a' } },
      [
        'eventTime: Required value',
        'type: Invalid value: "": has invalid value: Loud',
        'count: Invalid value: "": needs to be unset',
        'source: Invalid value: "": needs to be unset',
      ],
    ],
    [
      'a series of one',
      { ...event(), ...newer, series: { count: 1 } },
      ['series.count: Invalid value: "": should be at least 2', 'series.lastObservedTime: Required value'],
    ],
  ])('%s', (_, core, errors) => {
    expect(shownErrors(eventsEventKind.validate?.(converted(core)) ?? [])).toEqual(errors)
  })

  it('lets only the series change', () => {
    const core: Event = { ...event(), ...newer }
    const series = { count: 2, lastObservedTime: '2026-01-01T00:00:01.000000Z' }
    const update = (change: Partial<Event>) =>
      shownErrors(eventsEventKind.validateUpdate?.(converted({ ...core, ...change }), converted(core)) ?? [])
    expect(update({ series })).toEqual([])
    expect(update({ eventTime: '2026-01-01T00:00:00Z' })).toEqual([])
    expect(update({ reason: 'Killed' })).toEqual(['reason: Invalid value: "Killed": field is immutable'])
  })
})

describe('Event columns', () => {
  const now = Date.UTC(2026, 0, 1, 0, 10)
  it('of an event that happened again', () => {
    const seen = { firstTimestamp: '2026-01-01T00:00:00Z', lastTimestamp: '2026-01-01T00:09:30Z', count: 4 }
    expect(cells(eventKind, { ...event(), ...seen, source: { component: 'kubelet', host: 'n1' } }, now)).toEqual({
      'Last Seen': '30s',
      Type: 'Normal',
      Reason: 'Pulled',
      Object: 'pod/web',
      Subobject: '',
      Source: 'kubelet, n1',
      Message: 'pulled the image',
      'First Seen': '10m',
      Count: 4,
      Name: 'web.17a',
    })
  })
  it('of a series of the newer recorder', () => {
    const series = { count: 7, lastObservedTime: '2026-01-01T00:08:00.000000Z' }
    expect(cells(eventKind, { ...event(), ...newer, series }, now)).toMatchObject({ 'Last Seen': '2m', Count: 7 })
  })
})
