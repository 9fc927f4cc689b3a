import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Taint, Toleration } from '../../api/generated/core-v1.ts'
import { nodeKind } from '../../api/kinds/core/node/kind.ts'
import { podKind } from '../../api/kinds/core/pod/kind.ts'
import { VirtualClock } from '../../base/virtual-clock.ts'
import { type ControlPlane, startControlPlane } from '../../testing/control-plane.ts'
import { taintEvictionController } from './controller.ts'
import { toleratedTime } from './tolerations.ts'

const FOREVER = Number.POSITIVE_INFINITY
const dedicated = { key: 'dedicated', value: 'db', effect: 'NoExecute' }

describe('toleratedTime', () => {
  const rows: [string, Toleration[], number][] = [
    ['none', [], 0],
    ['equal', [{ key: 'dedicated', value: 'db' }], FOREVER],
    ['other value', [{ key: 'dedicated', value: 'web' }], 0],
    ['exists', [{ key: 'dedicated', operator: 'Exists' }], FOREVER],
    ['everything', [{ operator: 'Exists' }], FOREVER],
    ['other effect', [{ operator: 'Exists', effect: 'NoSchedule' }], 0],
    ['for a time', [{ key: 'dedicated', operator: 'Exists', tolerationSeconds: 60 }], 60_000],
    [
      'the shortest counts',
      [
        { operator: 'Exists', tolerationSeconds: 60 },
        { operator: 'Exists', tolerationSeconds: 5 },
      ],
      5000,
    ],
    ['negative is now', [{ operator: 'Exists', tolerationSeconds: -1 }], 0],
  ]
  it.each(rows)('%s', (_name, tolerations, expected) => {
    expect(toleratedTime([dedicated], tolerations)).toBe(expected)
  })
})

describe('taintEvictionController', () => {
  let plane: ControlPlane
  let clock: VirtualClock
  beforeEach(async () => {
    clock = new VirtualClock()
    plane = await startControlPlane({ clock, controllers: [taintEvictionController] })
    await plane.client.resource(nodeKind).create({ metadata: { name: 'n' } })
  })
  afterEach(() => plane[Symbol.asyncDispose]())

  const pods = () => plane.client.resource(podKind).namespace('default')
  const isGoing = async () => (await pods().get('p')).metadata.deletionTimestamp !== undefined
  const run = (tolerations: Toleration[] = []) =>
    pods().create({
      metadata: { name: 'p' },
      spec: { nodeName: 'n', tolerations, containers: [{ name: 'c', image: 'i' }] },
    })
  const taint = async (...taints: Taint[]) => {
    await plane.client.resource(nodeKind).patch('n', { spec: { taints } })
    await plane.settled()
  }

  it('deletes a pod that does not tolerate the taint, and says why', async () => {
    await run()
    await taint(dedicated)
    expect(await isGoing()).toBe(true)
    const condition = (await pods().get('p')).status?.conditions?.find(({ type }) => type === 'DisruptionTarget')
    expect(condition).toMatchObject({ status: 'True', reason: 'DeletionByTaintManager' })
    expect(plane.events).toContain('TaintManagerEviction: Marking for deletion Pod default/p')
  })

  it('deletes a pod that comes to a tainted node', async () => {
    await taint(dedicated)
    await run()
    await plane.settled()
    expect(await isGoing()).toBe(true)
  })

  it('cares about NoExecute only', async () => {
    await run()
    await taint({ ...dedicated, effect: 'NoSchedule' })
    expect(await isGoing()).toBe(false)
  })

  it('waits as long as the pod tolerates', async () => {
    await run([{ key: 'dedicated', operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 60 }])
    await taint(dedicated)
    await clock.advanceAsync(59_000)
    expect(await isGoing()).toBe(false)
    await clock.advanceAsync(1000)
    await plane.settled()
    expect(await isGoing()).toBe(true)
  })

  it('lets the pod stay if the taint goes in time', async () => {
    await run([{ key: 'dedicated', operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 60 }])
    await taint(dedicated)
    await clock.advanceAsync(30_000)
    await taint()
    expect(plane.events).toContain('TaintManagerEviction: Cancelling deletion of Pod default/p')
    await clock.advanceAsync(60_000)
    expect(await isGoing()).toBe(false)
  })
})
