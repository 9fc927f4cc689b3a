import { expect, test } from 'vitest'
import { ApiError } from '../api/meta/api-error.ts'
import type { KubernetesObject } from '../api/meta/object.ts'
import { silentLogger } from '../base/log.ts'
import { type Random, seededRandom } from '../base/random.ts'
import { VirtualClock } from '../base/virtual-clock.ts'
import { createClient } from './client.ts'
import { FakeApi } from './fake/fake-api.ts'
import { objectKey, startInformer } from './informer.ts'

interface ConfigMap extends KubernetesObject {
  data?: Record<string, string>
}

const RESOURCE = { group: '', version: 'v1', plural: 'configmaps', namespaced: true }

/** What the changes told so far add up to, and which of them contradicted the ones before. */
class Ledger {
  readonly objects = new Map<string, ConfigMap>()
  readonly contradictions: string[] = []

  readonly listen = (old: ConfigMap | undefined, current: ConfigMap | undefined) => {
    const key = objectKey((current ?? old)!)
    if (this.objects.get(key) !== old) this.contradictions.push(`${key} was not what the change says`)
    if (old && current && revision(current) <= revision(old)) this.contradictions.push(`${key} went back`)
    if (!old && !current) this.contradictions.push('a change without objects')
    if (current) this.objects.set(key, current)
    else this.objects.delete(key)
  }
}

const revision = (object: ConfigMap) => Number(object.metadata.resourceVersion)

async function step(api: FakeApi, random: Random, names: readonly string[]): Promise<void> {
  const maps = createClient(api).resource<ConfigMap>(RESOURCE).namespace('default')
  const name = names[Math.floor(random.next() * names.length)]!
  const dice = random.next()
  const ignore = () => undefined
  if (dice < 0.35) await maps.create({ metadata: { name, uid: random.uuid() } }).catch(ignore)
  else if (dice < 0.65) await maps.patch(name, { data: { value: String(random.next()) } }).catch(ignore)
  else if (dice < 0.85) await maps.delete(name).catch(ignore)
  else if (dice < 0.89) api.endWatches()
  else if (dice < 0.93) api.endWatches(new Error('cut'))
  else if (dice < 0.96) api.compact()
  else if (dice < 0.98) api.bookmark()
  else api.failNextCall(new ApiError(503, 'ServiceUnavailable', 'down'))
}

test.each(Array.from({ length: 20 }, (_, seed) => seed))(
  'changes under faults add up to the truth (seed %i)',
  async (seed) => {
    const random = seededRandom(seed)
    const api = new FakeApi()
    const clock = new VirtualClock()
    const ledger = new Ledger()
    const informer = startInformer<ConfigMap>({ transport: api, resource: RESOURCE, clock, random, log: silentLogger })
    informer.onChange(ledger.listen)
    const names = Array.from({ length: 8 }, (_, i) => `m${i}`)
    for (let i = 0; i < 300; i++) {
      await step(api, random, names)
      if (random.next() < 0.2) await clock.advanceAsync(random.next() * 300)
    }
    await clock.advanceAsync(120_000)
    const all = createClient(api).resource<ConfigMap>(RESOURCE)
    // A failure may still be on order.
    const truth = (await all.list().catch(() => all.list())).items
    expect(ledger.contradictions).toEqual([])
    expect(new Map(truth.map((object) => [objectKey(object), object]))).toEqual(ledger.objects)
    expect(informer.list().toSorted((a, b) => (objectKey(a) < objectKey(b) ? -1 : 1))).toEqual(truth)
    await informer[Symbol.asyncDispose]()
    expect(clock.pending).toBe(0)
  },
)
