import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { namespaceKind } from '../../api/kinds/core/namespace.ts'
import { podKind } from '../../api/kinds/core/pod/kind.ts'
import { serviceAccountKind } from '../../api/kinds/core/service-account.ts'
import { VirtualClock } from '../../base/virtual-clock.ts'
import { type AdmissionServer, startAdmissionServer } from './admission-server.fixture.ts'

let clock: VirtualClock
let plane: AdmissionServer
beforeEach(async () => {
  clock = new VirtualClock()
  plane = await startAdmissionServer({ clock, disableAdmissionPlugins: [] })
})
afterEach(() => plane[Symbol.asyncDispose]())

const createPod = (namespace: string, serviceAccountName?: string) =>
  plane.client
    .resource(podKind)
    .namespace(namespace)
    .create({
      metadata: { name: 'p' },
      spec: { containers: [{ name: 'c', image: 'i' }], ...(serviceAccountName && { serviceAccountName }) },
    })
const messageOf = (attempt: Promise<unknown>) =>
  attempt.then(
    () => 'admitted',
    (error: Error) => error.message,
  )

describe('a pod and its service account', () => {
  it('waits for the account of a new namespace', async () => {
    await plane.client.resource(namespaceKind).create({ metadata: { name: 'new' } })
    const creating = createPod('new')
    await clock.advanceAsync(500)
    await plane.client
      .resource(serviceAccountKind)
      .namespace('new')
      .create({ metadata: { name: 'default' } })
    const { spec } = await creating
    expect([spec?.serviceAccountName, spec?.volumes?.length]).toEqual(['default', 1])
  })

  it('does not wait for ever', async () => {
    const before = clock.pending
    const refused = messageOf(createPod('default'))
    await clock.advanceAsync(2000)
    expect(await refused).toBe(
      'pods "p" is forbidden: error looking up service account default/default: serviceaccount "default" not found',
    )
    expect(clock.pending).toBe(before)
  })

  it.each([
    [
      'default',
      'other',
      'pods "p" is forbidden: error looking up service account default/other: serviceaccount "other" not found',
    ],
    ['nowhere', undefined, 'namespaces "nowhere" not found'],
  ])('does not wait at all in %s for %s', async (namespace, account, message) => {
    expect(await messageOf(createPod(namespace, account))).toBe(message)
  })
})
