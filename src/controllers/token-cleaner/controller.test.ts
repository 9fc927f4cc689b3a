import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { secretKind } from '../../api/kinds/core/secret.ts'
import { serviceAccountKind } from '../../api/kinds/core/service-account.ts'
import { formatTime } from '../../api/meta/time.ts'
import { VirtualClock } from '../../base/virtual-clock.ts'
import { type ControlPlane, startControlPlane } from '../../testing/control-plane.ts'
import { tokenCleanerController } from './controller.ts'

let plane: ControlPlane
let clock: VirtualClock
beforeEach(async () => {
  clock = new VirtualClock()
  plane = await startControlPlane({ clock, controllers: [tokenCleanerController] })
})
afterEach(() => plane[Symbol.asyncDispose]())

const secrets = (namespace = 'default') => plane.client.resource(secretKind).namespace(namespace)
const accounts = () => plane.client.resource(serviceAccountKind).namespace('default')
const names = async (namespace?: string) => (await secrets(namespace).list()).items.map(({ metadata }) => metadata.name)
const createToken = (name: string, account: string, uid?: string) =>
  secrets().create({
    metadata: {
      name,
      annotations: {
        'kubernetes.io/service-account.name': account,
        ...(uid && { 'kubernetes.io/service-account.uid': uid }),
      },
    },
    type: 'kubernetes.io/service-account-token',
  })

describe('tokenCleanerController', () => {
  it('deletes the tokens of an account with it, and no other secrets', async () => {
    const { uid } = (await accounts().create({ metadata: { name: 'a' } })).metadata
    await createToken('token', 'a', uid)
    await createToken('unbound', 'a')
    await secrets().create({ metadata: { name: 'other', annotations: { 'kubernetes.io/service-account.name': 'a' } } })
    await plane.settled()
    expect(await names()).toEqual(['other', 'token', 'unbound'])
    await accounts().delete('a')
    await plane.settled()
    expect(await names()).toEqual(['other'])
  })

  it.each([
    ['of an account that never was', undefined],
    ['of a former account of the same name', 'another'],
  ])('deletes a token %s', async (_, uid) => {
    if (uid) await accounts().create({ metadata: { name: 'a' } })
    await createToken('token', 'a', uid)
    await plane.settled()
    expect(await names()).toEqual([])
  })

  it.each([
    ['ends', (now: number) => formatTime(now + 60_000), [], ['t']],
    ['has ended', (now: number) => formatTime(now - 1000), [], []],
    ['never ends', () => undefined, ['t'], ['t']],
  ])('a bootstrap token that %s', async (_, end, later, atOnce) => {
    const expiration = end(clock.now())
    const data: Record<string, string> =
      expiration === undefined ? {} : { expiration: Buffer.from(expiration).toString('base64') }
    await secrets('kube-system').create({ metadata: { name: 't' }, type: 'bootstrap.kubernetes.io/token', data })
    await plane.settled()
    expect(await names('kube-system')).toEqual(atOnce)
    await clock.advanceAsync(61_000)
    await plane.settled()
    expect(await names('kube-system')).toEqual(later)
  })
})
