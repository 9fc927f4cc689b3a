import { describe, expect, test } from 'vitest'
import type { Job, JobStatus } from '../../generated/batch-v1.ts'
import type { StatusSubresource } from '../../kind.ts'
import { cells, created, sampleTemplate, texts, updated } from '../workload.fixture.ts'
import { cronJobKind } from './cron-job/kind.ts'
import { countIndexes } from './job/indexes.ts'
import { jobKind } from './job/kind.ts'

type Row = [what: string, spec: object, ...errors: string[]]

const NOW = Date.parse('2026-01-01T00:05:00Z')
const template = (spec: object = {}) => sampleTemplate({ restartPolicy: 'Never', ...spec })
const job = (spec: object = {}, metadata: object = {}) => created(jobKind, { template: template(), ...spec }, metadata)
const indexed = { completionMode: 'Indexed', completions: 3 }
const rule = (change: object) => ({
  podFailurePolicy: { rules: [{ action: 'FailJob', onExitCodes: { operator: 'In', values: [1] }, ...change }] },
})
const cronJob = (spec: object, metadata: object = {}) =>
  created(cronJobKind, { schedule: '*/5 * * * *', jobTemplate: { spec: { template: template() } }, ...spec }, metadata)

describe('Job', () => {
  test('defaults', () => {
    expect(job()).toMatchObject({
      metadata: { generation: 1, labels: { app: 'web' } },
      spec: {
        completions: 1,
        parallelism: 1,
        backoffLimit: 6,
        completionMode: 'NonIndexed',
        suspend: false,
        podReplacementPolicy: 'TerminatingOrFailed',
        manualSelector: false,
      },
      status: {},
    })
    expect(job({ parallelism: 2 }).spec).not.toHaveProperty('completions')
    expect(job({ ...indexed, backoffLimitPerIndex: 1 }).spec?.backoffLimit).toBe(2147483647)
  })

  test('the selector is made from the uid', () => {
    const { spec } = job()
    expect(spec?.selector).toEqual({ matchLabels: { 'batch.kubernetes.io/controller-uid': 'u1' } })
    expect(spec?.template.metadata?.labels).toEqual({
      app: 'web',
      'controller-uid': 'u1',
      'job-name': 'web',
      'batch.kubernetes.io/controller-uid': 'u1',
      'batch.kubernetes.io/job-name': 'web',
    })
  })

  test('a manual selector is left alone', () => {
    const { spec } = job({ manualSelector: true, selector: { matchLabels: { app: 'web' } } })
    expect(spec?.selector).toEqual({ matchLabels: { app: 'web' } })
    expect(spec?.template.metadata?.labels).toEqual({ app: 'web' })
  })

  test.each<Row>([
    ['is fine', {}],
    [
      'labels of another job',
      { template: { ...template(), metadata: { labels: { 'job-name': 'x' } } } },
      'spec.template.metadata.labels[job-name]: Invalid value: {"controller-uid":"u1","job-name":"x","batch.kubernetes.io/controller-uid":"u1","batch.kubernetes.io/job-name":"web"}: must be \'web\'',
    ],
    [
      'selector of another',
      { selector: { matchLabels: { app: 'x' } } },
      'spec.selector: Invalid value: {"matchLabels":{"batch.kubernetes.io/controller-uid":"u1","app":"x"}}: `selector` not auto-generated',
      'spec.template.metadata.labels: Invalid value: {"controller-uid":"u1","job-name":"web","batch.kubernetes.io/controller-uid":"u1","batch.kubernetes.io/job-name":"web","app":"web"}: `selector` does not match template `labels`',
    ],
    [
      'manual without selector',
      { manualSelector: true },
      'spec.selector: Required value',
      'spec.template.metadata.labels: Invalid value: {"app":"web"}: `selector` does not match template `labels`',
    ],
    [
      'restarts always',
      { template: sampleTemplate() },
      'spec.template.spec.restartPolicy: Required value: valid values: "OnFailure", "Never"',
    ],
    [
      'counts',
      { parallelism: -1, completions: -1 },
      'spec.parallelism: Invalid value: -1: must be greater than or equal to 0',
      'spec.completions: Invalid value: -1: must be greater than or equal to 0',
    ],
    [
      'mode',
      { completionMode: 'X' },
      'spec.completionMode: Unsupported value: "X": supported values: "NonIndexed", "Indexed"',
    ],
    ['indexed', indexed],
    [
      'indexed without completions',
      { completionMode: 'Indexed', parallelism: 1 },
      'spec.completions: Required value: when completion mode is Indexed',
    ],
    [
      'indexed with wide parallelism',
      { ...indexed, parallelism: 100001 },
      'spec.parallelism: Invalid value: 100001: must be less than or equal to 100000 when completion mode is Indexed',
    ],
    [
      'per index without index',
      { backoffLimitPerIndex: 1 },
      'spec.backoffLimitPerIndex: Invalid value: 1: requires indexed completion mode',
    ],
    [
      'failed indexes alone',
      { ...indexed, maxFailedIndexes: 1 },
      'spec.backoffLimitPerIndex: Required value: when maxFailedIndexes is specified',
    ],
    [
      'failed indexes too many',
      { ...indexed, backoffLimitPerIndex: 1, maxFailedIndexes: 4 },
      'spec.maxFailedIndexes: Invalid value: 4: must be less than or equal to completions',
    ],
    ['managed by another', { managedBy: 'example.com/x' }],
    [
      'managed by no domain',
      { managedBy: 'x' },
      'spec.managedBy: Invalid value: "x": must be a domain-prefixed path (such as "acme.io/foo")',
    ],
    [
      'replacement',
      { podReplacementPolicy: 'X' },
      'spec.podReplacementPolicy: Unsupported value: "X": supported values: "Failed", "TerminatingOrFailed"',
    ],
    ['failure policy', rule({ onExitCodes: { operator: 'NotIn', values: [0, 1], containerName: 'app' } })],
    [
      'failure policy with restarts',
      { ...rule({}), template: template({ restartPolicy: 'OnFailure' }) },
      'spec.template.spec.restartPolicy: Invalid value: "OnFailure": only "Never" is supported when podFailurePolicy is specified',
    ],
    [
      'failure action',
      rule({ action: 'X' }),
      'spec.podFailurePolicy.rules[0].action: Unsupported value: "X": supported values: "Count", "FailIndex", "FailJob", "Ignore"',
    ],
    [
      'failure of an index',
      rule({ action: 'FailIndex' }),
      'spec.podFailurePolicy.rules[0].action: Invalid value: "FailIndex": requires the backoffLimitPerIndex to be set',
    ],
    [
      'failure of nothing',
      rule({ onExitCodes: undefined }),
      'spec.podFailurePolicy.rules[0]: Invalid value: specifying one of OnExitCodes and OnPodConditions is required',
    ],
    [
      'exit code zero',
      rule({ onExitCodes: { operator: 'In', values: [0] } }),
      'spec.podFailurePolicy.rules[0].onExitCodes.values[0]: Invalid value: 0: must not be 0 for the In operator',
    ],
    [
      'exit codes out of order',
      rule({ onExitCodes: { operator: 'In', values: [2, 1] } }),
      'spec.podFailurePolicy.rules[0].onExitCodes.values: Invalid value: [2,1]: must be ordered',
    ],
    [
      'exit code of no container',
      rule({ onExitCodes: { operator: 'In', values: [1], containerName: 'x' } }),
      'spec.podFailurePolicy.rules[0].onExitCodes.containerName: Invalid value: "x": must be one of the container or initContainer names in the pod template',
    ],
    ['condition', rule({ onExitCodes: undefined, onPodConditions: [{ type: 'DisruptionTarget' }] })],
    ['success policy', { ...indexed, successPolicy: { rules: [{ succeededIndexes: '0,2', succeededCount: 2 }] } }],
    [
      'success policy without index',
      { successPolicy: { rules: [{ succeededCount: 1 }] } },
      'spec.successPolicy: Invalid value: {"rules":[{"succeededCount":1}]}: requires indexed completion mode',
    ],
    [
      'success of nothing',
      { ...indexed, successPolicy: { rules: [{}] } },
      'spec.successPolicy.rules[0]: Required value: at least one of succeededCount or succeededIndexes must be specified',
    ],
    [
      'success of too many',
      { ...indexed, successPolicy: { rules: [{ succeededIndexes: '0-1', succeededCount: 3 }] } },
      'spec.successPolicy.rules[0].succeededCount: Invalid value: 3: must be less than or equal to 2 (the number of indexes in the specified succeededIndexes field)',
    ],
  ])('%s', (_what, spec, ...errors) => {
    expect(texts(jobKind.validate?.(job(spec)))).toEqual(errors)
  })

  test('the name of an indexed job becomes host names', () => {
    const name = 'a'.repeat(62)
    expect(texts(jobKind.validate?.(job(indexed, { name })))).toEqual([
      `metadata.name: Invalid value: "${name}": will not able to create pod with invalid DNS label: ${name}-2`,
    ])
  })

  test.each<[what: string, before: object, after: object, status?: JobStatus, ...errors: string[]]>([
    ['parallelism', {}, { parallelism: 3 }],
    ['suspend', {}, { suspend: true }],
    ['completions', {}, { completions: 3 }, {}, 'spec.completions: Invalid value: 3: field is immutable'],
    ['completions of an indexed job', indexed, { completions: 4, parallelism: 4 }],
    [
      'completions alone',
      indexed,
      { completions: 4 },
      {},
      'spec.completions: Invalid value: 4: can only be modified in tandem with spec.parallelism',
    ],
    [
      'mode',
      indexed,
      { completionMode: 'NonIndexed', completions: 3 },
      {},
      'spec.completionMode: Invalid value: "NonIndexed": field is immutable',
    ],
    ['manager', {}, { managedBy: 'a.b/c' }, {}, 'spec.managedBy: Invalid value: "a.b/c": field is immutable'],
  ])('update of %s', (_what, before, after, status = {}, ...errors) => {
    const old = { ...job(before), status }
    expect(texts(jobKind.validateUpdate?.(updated(jobKind, old, after), old))).toEqual(errors)
  })

  test('the template opens while a suspended job has no pods', () => {
    const old = job({ suspend: true })
    const withSelector = structuredClone(old.spec!.template)
    withSelector.spec!.nodeSelector = { a: 'b' }
    const change = updated(jobKind, old, { template: withSelector })
    expect(texts(jobKind.validateUpdate?.(change, old))[0]).toMatch(
      /^spec\.template: Invalid value: .*: field is immutable$/,
    )
    const suspended: Job = { ...old, status: { conditions: [{ type: 'Suspended', status: 'True' }] } }
    expect(texts(jobKind.validateUpdate?.(change, suspended))).toEqual([])
    const otherImage = structuredClone(old.spec!.template)
    otherImage.spec!.containers[0]!.image = 'other'
    expect(
      texts(jobKind.validateUpdate?.(updated(jobKind, suspended, { template: otherImage }), suspended))[0],
    ).toMatch(/^spec\.template\.spec: /)
  })

  test.each<[what: string, before: JobStatus, after: JobStatus, ...errors: string[]]>([
    ['counts', {}, { active: 1, succeeded: 1 }],
    [
      'fewer',
      { succeeded: 2 },
      { succeeded: 1 },
      'status.succeeded: Invalid value: 1: cannot decrease the succeeded counter',
    ],
    [
      'undone',
      { conditions: [{ type: 'Complete', status: 'True' }] },
      {},
      'status.conditions: Invalid value: cannot disable the terminal Complete=True condition',
    ],
    [
      'both',
      {},
      {
        conditions: [
          { type: 'Complete', status: 'True' },
          { type: 'Failed', status: 'True' },
        ],
      },
      'status.conditions: Invalid value: cannot set Complete=True and Failed=true conditions',
    ],
    [
      'done, but active',
      {},
      { active: 1, conditions: [{ type: 'Failed', status: 'True' }] },
      'status.active: Invalid value: 1: active>0 is invalid for finished job',
    ],
    [
      'time before the end',
      {},
      { completionTime: '2026-01-01T00:00:00Z' },
      'status.completionTime: Invalid value: "2026-01-01T00:00:00Z": cannot set completionTime when there is no Complete=True condition',
    ],
  ])('status: %s', (_what, before, after, ...errors) => {
    const door = jobKind.subresources.status as StatusSubresource<Job>
    expect(texts(door.validateUpdate?.({ ...job(), status: after }, { ...job(), status: before }))).toEqual(errors)
  })

  test.each<[shown: string, spec: object, status: JobStatus, metadata?: object]>([
    ['web Running 0/1  <unknown>', {}, {}],
    ['web Running 1/3 2m <unknown>', { completions: 3 }, { succeeded: 1, startTime: '2026-01-01T00:03:00Z' }],
    [
      'web Complete 1/1 30s <unknown>',
      {},
      {
        succeeded: 1,
        startTime: '2026-01-01T00:03:00Z',
        completionTime: '2026-01-01T00:03:30Z',
        conditions: [{ type: 'Complete', status: 'True' }],
      },
    ],
    ['web Suspended 0/1 of 2  <unknown>', { parallelism: 2 }, { conditions: [{ type: 'Suspended', status: 'True' }] }],
    ['web Terminating 0/1  <unknown>', {}, {}, { deletionTimestamp: '2026-01-01T00:00:00Z' }],
  ])('%s', (shown, spec, status, metadata = {}) => {
    expect(cells(jobKind, { ...job(spec, metadata), status }, NOW).join(' ')).toBe(shown)
  })
})

describe('indexes', () => {
  test.each<[text: string, count: number | string]>([
    ['', 0],
    ['1', 1],
    ['0,2-4,7', 5],
    ['3,2', 'non-increasing order, previous: 3, current: 2'],
    ['2-2', 'non-increasing order, previous: 2, current: 2'],
    [
      '1-2-3',
      'the fragment "1-2-3" violates the requirement that an index interval can have at most two parts separated by \'-\'',
    ],
    ['x', 'cannot convert string to integer for index: "x"'],
    ['10', 'too large index: "10"'],
  ])('%j', (text, count) => {
    expect(countIndexes(text, 10)).toBe(count)
  })
})

describe('CronJob', () => {
  test('defaults', () => {
    expect(cronJob({})).toMatchObject({
      spec: { concurrencyPolicy: 'Allow', suspend: false, successfulJobsHistoryLimit: 3, failedJobsHistoryLimit: 1 },
      status: {},
    })
    expect(cronJob({}).spec.jobTemplate.spec).not.toHaveProperty('backoffLimit')
  })

  test.each<Row>([
    ['is fine', { timeZone: 'Europe/Berlin' }],
    ['no schedule', { schedule: '' }, 'spec.schedule: Required value'],
    [
      'schedule',
      { schedule: '* * * *' },
      'spec.schedule: Invalid value: "* * * *": expected exactly 5 fields, found 4: [* * * *]',
    ],
    [
      'zone in the schedule',
      { schedule: 'TZ=UTC 0 * * * *' },
      'spec.schedule: Invalid value: "TZ=UTC 0 * * * *": cannot use TZ or CRON_TZ in schedule, use timeZone field instead',
    ],
    [
      'unknown zone',
      { timeZone: 'Europe/Atlantis' },
      'spec.timeZone: Invalid value: "Europe/Atlantis": unknown time zone Europe/Atlantis',
    ],
    ['empty zone', { timeZone: '' }, 'spec.timeZone: Invalid value: "": timeZone must be nil or non-empty string'],
    [
      'local zone',
      { timeZone: 'Local' },
      'spec.timeZone: Invalid value: "Local": timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones',
    ],
    ['zone as a path', { timeZone: '../x' }, 'spec.timeZone: Invalid value: "../x": unknown time zone ../x'],
    [
      'policy',
      { concurrencyPolicy: 'X' },
      'spec.concurrencyPolicy: Unsupported value: "X": supported values: "Allow", "Forbid", "Replace"',
    ],
    [
      'deadline',
      { startingDeadlineSeconds: -1 },
      'spec.startingDeadlineSeconds: Invalid value: -1: must be greater than or equal to 0',
    ],
    [
      'history',
      { failedJobsHistoryLimit: -1 },
      'spec.failedJobsHistoryLimit: Invalid value: -1: must be greater than or equal to 0',
    ],
    [
      'job',
      { jobTemplate: { spec: { template: sampleTemplate() } } },
      'spec.jobTemplate.spec.template.spec.restartPolicy: Required value: valid values: "OnFailure", "Never"',
    ],
    [
      'job with selector',
      { jobTemplate: { spec: { template: template(), selector: {}, manualSelector: true } } },
      'spec.jobTemplate.spec.selector: Invalid value: {}: `selector` will be auto-generated',
      'spec.jobTemplate.spec.manualSelector: Unsupported value: true: supported values: "nil", "false"',
    ],
  ])('%s', (_what, spec, ...errors) => {
    expect(texts(cronJobKind.validate?.(cronJob(spec)))).toEqual(errors)
  })

  test('the name must leave room', () => {
    const name = 'a'.repeat(53)
    expect(texts(cronJobKind.validate?.(cronJob({}, { name })))).toEqual([
      `metadata.name: Invalid value: "${name}": must be no more than 52 characters`,
    ])
  })

  test('columns', () => {
    const object = { ...cronJob({ suspend: true }), status: { active: [{}], lastScheduleTime: '2026-01-01T00:04:00Z' } }
    expect(cells(cronJobKind, object, NOW)).toEqual(['web', '*/5 * * * *', '<none>', 'True', 1, '60s', '<unknown>'])
    expect(cells(cronJobKind, object, NOW, 1)).toEqual(['app', 'nginx:1.27', '<none>'])
  })
})
