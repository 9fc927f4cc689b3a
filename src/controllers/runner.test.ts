import { afterEach, describe, expect, it } from 'vitest'
import { configMapKind } from '../api/kinds/core/config-map.ts'
import { type ControlPlane, startControlPlane } from '../testing/control-plane.ts'
import { type Controller, type ControllerContext, controllerKeys, ownKey, splitKey, watch } from './controller.ts'

let plane: ControlPlane | undefined
afterEach(async () => {
  await plane?.[Symbol.asyncDispose]()
  plane = undefined
})

const following =
  (name: string, reconcile: (key: string) => Promise<void>) =>
  ({ informers }: ControllerContext): Controller => ({
    name,
    watches: [watch(informers.informer(configMapKind), ownKey)],
    reconcile,
  })

describe('runControllers', () => {
  it('reconciles what changes, by its key', async () => {
    const seen: string[] = []
    plane = await startControlPlane({ controllers: [following('one', async (key) => void seen.push(key))] })
    await plane.client
      .resource(configMapKind)
      .namespace('default')
      .create({ metadata: { name: 'a' } })
    await plane.settled()
    expect(seen).toEqual(['default/a'])
  })

  it('tries again after a failure, without holding up others', async () => {
    let failures = 0
    const failing = following('failing', async () => {
      if (++failures < 3) throw new Error('not yet')
    })
    const seen: string[] = []
    plane = await startControlPlane({ controllers: [failing, following('fine', async (key) => void seen.push(key))] })
    await plane.client
      .resource(configMapKind)
      .namespace('default')
      .create({ metadata: { name: 'a' } })
    await expect.poll(() => failures).toBe(3)
    expect(seen).toEqual(['default/a'])
  })
})

describe('keys', () => {
  const pod = (owner: string) => ({
    metadata: {
      namespace: 'n',
      name: 'p',
      ownerReferences: [{ apiVersion: 'apps/v1', kind: 'ReplicaSet', name: owner, uid: owner, controller: true }],
    },
  })

  it('of a dependent are those of its old and its new controller', () => {
    const keys = controllerKeys('ReplicaSet')
    expect(keys(pod('a'), pod('a'))).toEqual(['n/a'])
    expect(keys(pod('a'), pod('b'))).toEqual(['n/a', 'n/b'])
    expect(keys(undefined, { metadata: { name: 'lonely' } })).toEqual([])
    expect(controllerKeys('Job')(undefined, pod('a'))).toEqual([])
  })

  it.each([
    ['a/b', { namespace: 'a', name: 'b' }],
    ['b', { namespace: '', name: 'b' }],
  ])('split: %s', (key, parts) => expect(splitKey(key)).toEqual(parts))
})
