/** The disk of a node is full: new pods say so and wait, those that run go on, and with room again all is well. */
import { execFileSync } from 'node:child_process'
import { closeSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Event as CoreEvent } from '../../src/api/generated/core-v1.ts'
import { asRoot } from '../linux/as-root.ts'
import { isReady, mainOf, type RealNode, realNode, sh, until } from './kubelet-under-test.ts'

const DISK = '24m'
const EVENTS = { group: '', version: 'v1', plural: 'events', namespaced: true }

asRoot('a node with a full disk', () => {
  const own = process.env.TMPDIR
  let disk: string
  let node: RealNode
  beforeAll(async () => {
    disk = mkdtempSync(path.join(tmpdir(), 'sampan-full-'))
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${DISK}`, 'tmpfs', disk])
    process.env.TMPDIR = disk
    node = await realNode()
  })
  afterAll(async () => {
    await node?.[Symbol.asyncDispose]()
    if (own === undefined) delete process.env.TMPDIR
    else process.env.TMPDIR = own
    execFileSync('umount', ['-l', disk])
    rmSync(disk, { recursive: true })
  })

  /** To the last byte. */
  function fill(): void {
    const file = openSync(path.join(disk, 'ballast'), 'w')
    for (let size = 1 << 20; size > 0; )
      try {
        writeSync(file, Buffer.alloc(size))
      } catch {
        size >>= 1
      }
    closeSync(file)
  }
  const warnings = async (name: string) => {
    const { items } = await node.client.resource<CoreEvent>(EVENTS).namespace('default').list()
    return items.filter(({ involvedObject, type }) => involvedObject.name === name && type === 'Warning')
  }

  test('a pod that comes says what is wrong, and starts when there is room', async () => {
    await node.run('neighbour', { containers: [sh('while true; do echo here; sleep 0.05; done')] })
    await node.untilPod('neighbour', isReady)
    fill()
    await node.run('late', { containers: [sh('echo started; sleep 1000')] })
    const told = await until(
      () => warnings('late'),
      (found) => found.some(({ message = '' }) => /ENOSPC|no space left on device/i.test(message)),
    )
    expect(told.length).toBeGreaterThan(0)
    expect((await node.untilPod('late', () => true)).status?.phase).toBe('Pending')
    expect((await node.exec('neighbour', ['true'])).code).toBe(0)
    rmSync(path.join(disk, 'ballast'))
    await node.untilPod('late', isReady)
    expect(await node.logs('late')).toBe('started\n')
  })

  test('who ran all the time never noticed', async () => {
    const lines = async () => (await node.logs('neighbour')).split('\n').length
    const before = await lines()
    await until(lines, (count) => count > before)
    expect(mainOf(await node.untilPod('neighbour', isReady))).toMatchObject({ restartCount: 0 })
  })

  test('a program that fills its own layer gets the error, and takes nothing with it', async () => {
    await node.run('greedy', {
      restartPolicy: 'Never',
      containers: [sh('dd if=/dev/zero of=/big bs=1M; code=$?; rm /big; exit $code')],
    })
    const pod = await node.untilPod('greedy', ({ status }) => status?.phase === 'Failed')
    expect(mainOf(pod).state?.terminated).toMatchObject({ exitCode: 1, reason: 'Error' })
    expect((await node.exec('neighbour', ['true'])).code).toBe(0)
    for (const name of ['neighbour', 'late', 'greedy']) {
      await node.pods().delete(name)
      await node.untilGone(name)
    }
    await until(
      async () => node.leftovers(),
      (left) => left.length === 0,
    )
  })
})
