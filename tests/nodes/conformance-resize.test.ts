/** Other resources for pods while they run: the API, the kernel and the containers agree, and nothing starts anew. */
import { writeFileSync } from 'node:fs'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Pod, ResourceRequirements } from '../../src/api/generated/core-v1.ts'
import { asRoot } from '../linux/as-root.ts'
import { ConformanceNode, conditionOf, isReady, pod, sh, statusOf } from './conformance-node.ts'

type Lists = ResourceRequirements
interface Row {
  readonly name: string
  readonly how?: 'patch' | 'replace'
  readonly before: Readonly<Record<string, Lists>>
  readonly after: Readonly<Record<string, Lists>>
}

const fixed = (cpu: string, memory: string): Lists => ({ requests: { cpu, memory }, limits: { cpu, memory } })
const asks = (cpu: string, memory: string): Lists => ({ requests: { cpu, memory } })
const ranges = (requests: [string, string], limits: [string, string]): Lists => ({
  requests: { cpu: requests[0], memory: requests[1] },
  limits: { cpu: limits[0], memory: limits[1] },
})

const ROWS: Row[] = [
  {
    name: 'net-increase',
    before: { c1: fixed('50m', '40Mi'), c2: fixed('50m', '40Mi'), c3: fixed('50m', '60Mi') },
    after: { c1: fixed('80m', '50Mi'), c2: fixed('80m', '50Mi'), c3: fixed('30m', '50Mi') },
  },
  {
    name: 'net-decrease',
    before: { c1: fixed('50m', '40Mi'), c2: fixed('70m', '60Mi'), c3: fixed('70m', '60Mi') },
    after: { c1: fixed('60m', '50Mi'), c2: fixed('40m', '50Mi'), c3: fixed('40m', '50Mi') },
  },
  {
    name: 'mixed',
    before: { c1: fixed('50m', '40Mi'), c2: fixed('60m', '40Mi'), c3: fixed('50m', '40Mi') },
    after: { c1: fixed('80m', '40Mi'), c2: fixed('40m', '60Mi'), c3: fixed('80m', '60Mi') },
  },
  {
    name: 'burstable-six',
    before: {
      c1: {},
      c2: asks('30m', '40Mi'),
      c3: { requests: { memory: '40Mi' } },
      c4: ranges(['30m', '40Mi'], ['60m', '80Mi']),
      c5: ranges(['30m', '40Mi'], ['60m', '80Mi']),
      c6: { requests: { cpu: '30m' } },
    },
    after: {
      c1: ranges(['20m', '40Mi'], ['40m', '60Mi']),
      c2: ranges(['40m', '40Mi'], ['80m', '80Mi']),
      c3: { requests: { cpu: '20m', memory: '50Mi' } },
      c4: ranges(['50m', '50Mi'], ['90m', '90Mi']),
      c5: ranges(['20m', '40Mi'], ['40m', '60Mi']),
      c6: { requests: { cpu: '20m' }, limits: { cpu: '70m' } },
    },
  },
  // To the kernel two of a thousand shares are the least there is, and a hundredth of a CPU the least limit.
  {
    name: 'equivalents',
    before: { c1: { requests: { cpu: '2m' }, limits: { cpu: '10m' } } },
    after: { c1: { requests: { cpu: '1m' }, limits: { cpu: '5m' } } },
  },
  {
    name: 'by-replace',
    how: 'replace',
    before: { c1: fixed('50m', '40Mi') },
    after: { c1: fixed('80m', '50Mi') },
  },
]

const podOf = ({ name, before }: Row) =>
  pod(
    name,
    Object.entries(before).map(([container, resources]) => sh('exec sleep 1000', { name: container, resources })),
  )

/** Both versions of cgroups, in the words of the first. */
const LOOK = `cd /sys/fs/cgroup; if [ -e cpu.max ]; then
  read quota period < cpu.max; [ $quota = max ] && quota=-1; read memory < memory.max
else read quota < cpu/cpu.cfs_quota_us; read memory < memory/memory.limit_in_bytes; fi; echo $quota $memory`

const PERIOD = 100_000
const LEAST_QUOTA = 1000
const MEBIBYTE = 2 ** 20
const number = (text: string | number) => Number.parseInt(String(text), 10)
const quotaOf = ({ limits }: Lists) =>
  limits?.cpu ? Math.max(LEAST_QUOTA, (number(limits.cpu) * PERIOD) / 1000) : undefined
const memoryOf = ({ limits }: Lists) => (limits?.memory ? number(limits.memory) * MEBIBYTE : undefined)

asRoot('resize in place', () => {
  let node: ConformanceNode
  beforeAll(async () => {
    node = await ConformanceNode.up()
    await node.apply(...ROWS.map(podOf))
  }, 120_000)
  afterAll(() => node?.[Symbol.asyncDispose](), 60_000)

  async function resize({ name, how, after }: Row): Promise<void> {
    const containers = Object.entries(after).map(([container, resources]) => ({ name: container, resources }))
    if (how !== 'replace') {
      const patch = JSON.stringify({ spec: { containers } })
      await node.kubectl('patch', 'pod', name, '--subresource=resize', '-p', patch)
      return
    }
    const found = await node.pod(name)
    const changed = found.spec!.containers.map((one) => ({ ...one, resources: after[one.name]! }))
    const file = `${node.machine.folder}/${name}.json`
    writeFileSync(file, JSON.stringify({ ...found, spec: { ...found.spec, containers: changed } }))
    await node.kubectl('replace', '--subresource=resize', '-f', file)
  }

  const isDone = (row: Row) => (found: Pod) =>
    found.status?.observedGeneration === found.metadata.generation &&
    !conditionOf(found, 'PodResizePending') &&
    !conditionOf(found, 'PodResizeInProgress') &&
    Object.entries(row.after).every(
      ([name, { limits }]) => JSON.stringify(statusOf(found, name).resources?.limits) === JSON.stringify(limits),
    )

  async function expectLimits(name: string, wanted: Row['after']): Promise<void> {
    for (const [container, resources] of Object.entries(wanted)) {
      const said = await node.kubectl('exec', name, '-c', container, '--', 'sh', '-c', LOOK)
      const [quota, memory] = said.trim().split(' ').map(Number)
      if (quotaOf(resources) !== undefined) expect([container, quota]).toEqual([container, quotaOf(resources)])
      if (memoryOf(resources) !== undefined) expect([container, memory]).toEqual([container, memoryOf(resources)])
    }
  }

  test.each(ROWS)('$name', async (row) => {
    const started = await node.until(row.name, isReady)
    await expectLimits(row.name, row.before)
    await resize(row)
    const found = await node.until(row.name, isDone(row))
    for (const [name, resources] of Object.entries(row.after)) {
      const { resources: actual, allocatedResources, restartCount, containerID } = statusOf(found, name)
      expect(actual).toEqual(resources)
      expect(allocatedResources).toEqual(resources.requests)
      expect([restartCount, containerID]).toEqual([0, statusOf(started, name).containerID])
    }
    await expectLimits(row.name, row.after)
  })
})
