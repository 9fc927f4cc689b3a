import { describe, expect } from 'vitest'
import { cronJobKind } from '../../src/api/kinds/batch/cron-job/kind.ts'
import { jobKind } from '../../src/api/kinds/batch/job/kind.ts'
import { podKind } from '../../src/api/kinds/core/pod/kind.ts'
import { podDisruptionBudgetKind } from '../../src/api/kinds/policy/pod-disruption-budget.ts'
import type { ConformanceBench } from '../tools/conformance.ts'
import { condition, conformanceTest, names, ownerOf, template, workload } from '../tools/conformance.ts'

/** What the conformance suite asks of jobs and of budgets, in our own words; see docs/conformance.md. */

describe('Job', () => {
  const job = (spec: object = {}, command = ['sleep', '600']) => {
    const containers = [{ name: 'app', image: 'app:1', command }]
    return {
      apiVersion: 'batch/v1',
      kind: 'Job',
      metadata: { name: 'work' },
      spec: { ...spec, template: template('work', 'app:1', { restartPolicy: 'Never', containers }) },
    }
  }

  conformanceTest('adopts orphans and releases pods that do not match', async (bench) => {
    await bench.apply(job({ parallelism: 2, completions: 2 }))
    await bench.settled()
    const [first] = await bench.pods()
    const { name = '', labels = {} } = first!.metadata
    await bench.of(podKind).patch(name, { metadata: { ownerReferences: null } })
    await bench.settled()
    expect(ownerOf(await bench.of(podKind).get(name))).toMatchObject({ kind: 'Job', name: 'work' })
    const none = Object.fromEntries(Object.keys(labels).map((label) => [label, null]))
    await bench.of(podKind).patch(name, { metadata: { labels: none } })
    await bench.settled()
    expect(ownerOf(await bench.of(podKind).get(name))).toBeUndefined()
    expect(await bench.pods('job-name=work')).toHaveLength(2)
  })

  conformanceTest('lives: suspended, patched, resumed, complete, deleted as a collection', async (bench) => {
    const object = job({ suspend: true, parallelism: 2, completions: 2 }, ['true'])
    await bench.apply({ ...object, metadata: { name: 'work', labels: { test: 'life' } } } as typeof object)
    await bench.settled()
    const jobs = bench.of(jobKind)
    const suspended = await jobs.get('work')
    expect(suspended.status?.conditions).toContainEqual(expect.objectContaining({ type: 'Suspended', status: 'True' }))
    expect(await bench.pods()).toEqual([])
    const patched = await jobs.patch('work', { metadata: { labels: { patched: 'yes' } } })
    expect(Number(patched.metadata.resourceVersion)).toBeGreaterThan(Number(suspended.metadata.resourceVersion))
    const metadata = { ...patched.metadata, annotations: { updated: 'true' } }
    const updated = await jobs.update({ ...patched, metadata, spec: { ...patched.spec!, suspend: false } })
    expect(updated.metadata.annotations).toMatchObject({ updated: 'true' })
    const everywhere = await bench.client.resource(jobKind).list({ labelSelector: 'patched=yes' })
    expect(names(everywhere.items)).toEqual(['work'])
    await bench.clock.advance('1m')
    const complete = (await jobs.get('work')).status
    expect(complete).toMatchObject({ succeeded: 2 })
    expect(complete?.conditions).toContainEqual(expect.objectContaining({ type: 'Complete', status: 'True' }))
    await jobs.deleteCollection({ propagationPolicy: 'Background' }, { labelSelector: 'test=life' })
    await bench.clock.advance('1m')
    expect((await jobs.list()).items).toEqual([])
    expect(await bench.pods()).toEqual([])
  })

  conformanceTest('goes with its pods', async (bench) => {
    await bench.apply(job({ parallelism: 2 }))
    await bench.settled()
    await bench.of(jobKind).delete('work', { propagationPolicy: 'Foreground' })
    await bench.clock.advance('1m')
    expect(await bench.codeOf(bench.of(jobKind).get('work'))).toBe(404)
    expect(await bench.pods()).toEqual([])
  })

  conformanceTest('lets its status be written', async (bench) => {
    await bench.apply(job({ suspend: true }))
    await bench.settled()
    const patch = { status: { conditions: [condition('Patched')] }, metadata: { annotations: { by: 'status' } } }
    await bench.of(jobKind).patch('work', patch, { subresource: 'status' })
    const { status, metadata } = await bench.of(jobKind).get('work')
    expect(status?.conditions).toContainEqual(expect.objectContaining(condition('Patched')))
    expect(metadata.annotations?.by).toBe('status')
  })
})

describe('CronJob', () => {
  const cronJob = (spec: object) => ({
    apiVersion: 'batch/v1',
    kind: 'CronJob',
    metadata: { name: 'tick' },
    spec: {
      schedule: '*/1 * * * *',
      jobTemplate: {
        spec: {
          template: template('tick', 'app:1', {
            restartPolicy: 'OnFailure',
            containers: [{ name: 'app', image: 'app:1', command: ['sleep', '300'] }],
          }),
        },
      },
      ...spec,
    },
  })
  const jobs = async (bench: ConformanceBench) => (await bench.of(jobKind).list()).items

  conformanceTest('runs several jobs at a time where that is allowed', async (bench) => {
    await bench.apply(cronJob({ concurrencyPolicy: 'Allow' }))
    await bench.clock.advance('2m30s')
    expect((await bench.of(cronJobKind).get('tick')).status?.active?.length).toBe(2)
  })

  conformanceTest('runs one at a time where more is forbidden', async (bench) => {
    await bench.apply(cronJob({ concurrencyPolicy: 'Forbid' }))
    await bench.clock.advance('1m30s')
    const first = names(await jobs(bench))
    await bench.clock.advance('2m')
    expect(first).toHaveLength(1)
    expect(names(await jobs(bench))).toEqual(first)
  })

  conformanceTest('replaces the one that runs', async (bench) => {
    await bench.apply(cronJob({ concurrencyPolicy: 'Replace' }))
    await bench.clock.advance('1m30s')
    const first = names(await jobs(bench))
    await bench.clock.advance('1m')
    const second = names(await jobs(bench))
    expect(second).toHaveLength(1)
    expect(second).not.toEqual(first)
  })

  conformanceTest('runs none while it is suspended', async (bench) => {
    await bench.apply(cronJob({ suspend: true }))
    await bench.clock.advance('5m')
    expect(await jobs(bench)).toEqual([])
    await bench.of(cronJobKind).patch('tick', { spec: { suspend: false } })
    await bench.clock.advance('1m')
    // The last one it has missed, and the next.
    expect(await jobs(bench)).toHaveLength(2)
  })
})

describe('PodDisruptionBudget', () => {
  const budget = (minAvailable: number) => ({
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    metadata: { name: 'web' },
    spec: { minAvailable, selector: { matchLabels: { app: 'web' } } },
  })
  const evict = (bench: ConformanceBench, name: string) =>
    bench.codeOf(
      bench.of(podKind).subresource('create', name, 'eviction', {
        apiVersion: 'policy/v1',
        kind: 'Eviction',
        metadata: { name },
      }),
    )

  conformanceTest('blocks an eviction until it allows it', async (bench) => {
    await bench.apply([workload('ReplicaSet', 'web', { replicas: 3 }), budget(3)])
    await bench.settled()
    expect((await bench.of(podDisruptionBudgetKind).get('web')).status).toMatchObject({
      currentHealthy: 3,
      desiredHealthy: 3,
      disruptionsAllowed: 0,
      expectedPods: 3,
    })
    const [victim] = names(await bench.pods())
    expect(await evict(bench, victim!)).toBe(429)
    await bench.apply(budget(2))
    await bench.settled()
    expect(await evict(bench, victim!)).toBeUndefined()
    await bench.settled()
    expect(names(await bench.pods())).not.toContain(victim)
    expect(await bench.pods()).toHaveLength(3)
    await bench.of(podDisruptionBudgetKind).delete('web')
    expect(await evict(bench, names(await bench.pods())[0]!)).toBeUndefined()
  })

  conformanceTest('lets its status be written, and is not fooled for long', async (bench) => {
    await bench.apply([workload('ReplicaSet', 'web', { replicas: 1 }), budget(1)])
    await bench.settled()
    const current = await bench.of(podDisruptionBudgetKind).get('web')
    const disruptedPods = { gone: '2026-01-01T00:00:00Z' }
    const status = { ...current.status!, disruptedPods }
    const updated = await bench.of(podDisruptionBudgetKind).updateStatus({ ...current, status })
    expect(updated.status?.disruptedPods).toEqual(disruptedPods)
    await bench.clock.advance('3m')
    expect((await bench.of(podDisruptionBudgetKind).get('web')).status?.disruptedPods ?? {}).toEqual({})
  })
})
