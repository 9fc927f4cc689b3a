import { beforeEach, describe, expect, it } from 'vitest'
import type { KubernetesObject } from '../../api/meta/object.ts'
import { VirtualClock } from '../../base/virtual-clock.ts'
import type { Informer, Listener } from '../../client/informer.ts'
import { Expectations } from './expectations.ts'

const OWNER = 'default/web'
const pod = (name: string, uid = name, deletionTimestamp?: string): KubernetesObject => ({
  metadata: { namespace: 'default', name, uid, ...(deletionTimestamp && { deletionTimestamp }) },
})

/** An informer that shows what it is told to, when it is told to. */
class SlowInformer {
  readonly #objects = new Map<string, KubernetesObject>()
  #listener: Listener<KubernetesObject> = () => {}
  synced = Promise.resolve()
  get = (key: string) => this.#objects.get(key)
  onChange(listener: Listener<KubernetesObject>) {
    this.#listener = listener
    return () => {}
  }
  show(object: KubernetesObject) {
    const key = `default/${object.metadata.name}`
    const old = this.#objects.get(key)
    this.#objects.set(key, object)
    this.#listener(old, object)
  }
  remove(object: KubernetesObject) {
    this.#objects.delete(`default/${object.metadata.name}`)
    this.#listener(object, undefined)
  }
}

describe('Expectations', () => {
  let informer: SlowInformer
  let clock: VirtualClock
  let expectations: Expectations<KubernetesObject>
  beforeEach(() => {
    informer = new SlowInformer()
    clock = new VirtualClock()
    expectations = new Expectations(informer as unknown as Informer, clock)
    expectations.watch.subscribe(() => {})
  })
  const isSatisfied = () => expectations.waitTime(OWNER) === 0

  it('waits until each creation is seen', async () => {
    await expectations.create(OWNER, async () => pod('a'))
    await expectations.create(OWNER, async () => pod('b'))
    expect(isSatisfied()).toBe(false)
    informer.show(pod('a'))
    expect(isSatisfied()).toBe(false)
    informer.show(pod('b'))
    expect(isSatisfied()).toBe(true)
  })

  it('does not wait for what was seen before the answer came', async () => {
    await expectations.create(OWNER, async () => {
      informer.show(pod('a'))
      return pod('a')
    })
    expect(isSatisfied()).toBe(true)
  })

  it('does not wait for what came and went before the answer came', async () => {
    await expectations.create(OWNER, async () => {
      informer.show(pod('a'))
      informer.remove(pod('a'))
      return pod('a')
    })
    expect(isSatisfied()).toBe(true)
  })

  it('is not fooled by a namesake', async () => {
    informer.show(pod('a', 'old'))
    await expectations.create(OWNER, async () => pod('a', 'new'))
    expect(isSatisfied()).toBe(false)
    informer.remove(pod('a', 'old'))
    expect(isSatisfied()).toBe(false)
    informer.show(pod('a', 'new'))
    expect(isSatisfied()).toBe(true)
  })

  it('waits until a deletion is seen, at least as a mark', async () => {
    informer.show(pod('a'))
    await expectations.delete(OWNER, pod('a'), async () => {})
    expect(isSatisfied()).toBe(false)
    informer.show(pod('a', 'a', 'now'))
    expect(isSatisfied()).toBe(true)
  })

  it('does not wait for what failed', async () => {
    informer.show(pod('a'))
    const refuse = () => Promise.reject(new Error('no'))
    await expect(expectations.delete(OWNER, pod('a'), refuse)).rejects.toThrow('no')
    await expect(expectations.create(OWNER, refuse)).rejects.toThrow('no')
    expect(isSatisfied()).toBe(true)
  })

  it('gives up after five minutes, and when the owner is gone', async () => {
    await expectations.create(OWNER, async () => pod('a'))
    expect(expectations.waitTime(OWNER)).toBe(300_000)
    clock.advance(299_999)
    expect(isSatisfied()).toBe(false)
    clock.advance(1)
    expect(isSatisfied()).toBe(true)
    await expectations.create(OWNER, async () => pod('b'))
    expectations.forget(OWNER)
    expect(isSatisfied()).toBe(true)
  })
})
