import { createServer, type Server } from 'node:https'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { KubernetesObject } from '../../api/meta/object.ts'
import type { WatchEvent } from '../../client/transport.ts'
import { type AnyObject, Bench, definitionOf, failure, typeOf } from './custom-resources.fixture.ts'
import { CERTIFICATE, KEY } from './webhook-certificate.fixture.ts'

interface Review {
  apiVersion: string
  request: { uid: string; desiredAPIVersion: string; objects: AnyObject[] }
}
type Convert = (object: AnyObject, apiVersion: string) => unknown

/** v1 has `host: "a:1"`, v2 has `host: a` and `port: 1`. */
const splitHost: Convert = (object, apiVersion) => {
  const { host = '', port } = object.spec as { host?: string; port?: string }
  const [name, number] = host.split(':')
  const spec = apiVersion.endsWith('/v2') ? { host: name, port: number } : { host: `${host}:${port}` }
  return { ...object, apiVersion, spec }
}

class Webhook {
  readonly reviews: Review[] = []
  convert: Convert = splitHost
  answer: ((review: Review) => object) | undefined
  readonly #server: Server

  constructor() {
    this.#server = createServer({ key: KEY, cert: CERTIFICATE }, (request, response) => {
      let text = ''
      request.on('data', (part: Buffer) => {
        text += part.toString()
      })
      request.on('end', () => {
        const review = JSON.parse(text) as Review
        this.reviews.push(review)
        response.setHeader('content-type', 'application/json')
        response.end(JSON.stringify(this.answer?.(review) ?? this.#converted(review)))
      })
    })
  }

  #converted({ apiVersion, request: { uid, objects, desiredAPIVersion } }: Review): object {
    const convertedObjects = objects.map((object) => this.convert(object, desiredAPIVersion))
    return { kind: 'ConversionReview', apiVersion, response: { uid, convertedObjects, result: { status: 'Success' } } }
  }

  async start(): Promise<number> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve))
    return (this.#server.address() as AddressInfo).port
  }

  stop(): void {
    this.#server.closeAllConnections()
    this.#server.close()
  }
}

const webhook = new Webhook()
let bench: Bench
let port: number

const HOST = { properties: { host: { type: 'string' }, port: { type: 'string' } } }
const definition = (plural: string, kind: string) =>
  definitionOf({
    plural,
    kind,
    versions: [
      { name: 'v1', spec: HOST },
      { name: 'v2', spec: HOST, extra: { selectableFields: [{ jsonPath: '.spec.host' }] } },
    ],
    conversion: {
      strategy: 'Webhook',
      webhook: {
        conversionReviewVersions: ['v1'],
        clientConfig: {
          service: { namespace: 'default', name: 'converter', port: 443, path: '/convert' },
          caBundle: Buffer.from(CERTIFICATE).toString('base64'),
        },
      },
    },
  })
const peers = definition('peers', 'Peer')
const [v1, v2] = [typeOf(peers, 'v1'), typeOf(peers, 'v2')]
const peer = (name: string, spec: object): AnyObject => ({ metadata: { name }, spec })
const items = (list: AnyObject) => list.items as AnyObject[]

beforeAll(async () => {
  port = await webhook.start()
  bench = await Bench.start({
    resolveService: async ({ name }) => (name === 'converter' ? { host: '127.0.0.1', port } : undefined),
  })
  await bench.define(peers)
})
afterAll(async () => {
  await bench[Symbol.asyncDispose]()
  webhook.stop()
})

describe('conversion by a webhook', () => {
  it('reads and writes every version', async () => {
    await bench.create(v1, peer('one', { host: 'a:1' }))
    expect(await bench.get(v2, 'one')).toMatchObject({ apiVersion: 'example.com/v2', spec: { host: 'a', port: '1' } })
    const made = await bench.create(v2, peer('two', { host: 'b', port: '2' }))
    expect(made).toMatchObject({ apiVersion: 'example.com/v2', spec: { host: 'b', port: '2' } })
    expect(await bench.get(v1, 'two')).toMatchObject({ apiVersion: 'example.com/v1', spec: { host: 'b:2' } })
    const changed = await bench.update(v2, { ...made, spec: { host: 'c', port: '3' } })
    expect(changed.spec).toEqual({ host: 'c', port: '3' })
    expect((await bench.get(v1, 'two')).spec).toEqual({ host: 'c:3' })
  })

  it('asks once for a list, and not again for what it knows', async () => {
    await bench.create(v1, peer('three', { host: 'd:4' }))
    await bench.create(v1, peer('four', { host: 'e:5' }))
    webhook.reviews.length = 0
    const list = await bench.call({ verb: 'list', resource: v2 })
    expect(items(list).map((item) => (item.spec as { host: string }).host)).toEqual(['e', 'a', 'd', 'c'])
    expect(webhook.reviews).toHaveLength(1)
    await bench.call({ verb: 'list', resource: v2 })
    expect(webhook.reviews).toHaveLength(1)
  })

  it('selects by fields of the version that is asked for', async () => {
    const list = await bench.call({ verb: 'list', resource: v2, query: { fieldSelector: 'spec.host=d' } })
    expect(items(list).map((item) => item.metadata.name)).toEqual(['three'])
  })

  it('serves watches, in order and filtered', async () => {
    const stop = new AbortController()
    const seen: [string, string | undefined, unknown][] = []
    const query = { fieldSelector: 'spec.host=w' }
    const watching = (async () => {
      for await (const batch of bench.api.watch({ resource: v2, namespace: 'default', query, signal: stop.signal }))
        for (const event of batch as readonly Extract<WatchEvent, { object: KubernetesObject }>[]) {
          seen.push([event.type, event.object.metadata.name, (event.object as AnyObject).spec])
          if (event.type === 'DELETED') stop.abort()
        }
    })()
    const made = await bench.create(v1, peer('seen', { host: 'w:1' }))
    await bench.create(v1, peer('unseen', { host: 'x:1' }))
    const changed = await bench.update(v1, { ...made, spec: { host: 'w:2' } })
    await bench.update(v1, { ...changed, spec: { host: 'y:2' } })
    await watching
    expect(seen).toEqual([
      ['ADDED', 'seen', { host: 'w', port: '1' }],
      ['MODIFIED', 'seen', { host: 'w', port: '2' }],
      ['DELETED', 'seen', { host: 'y', port: '2' }],
    ])
  })
})

describe('a webhook that', () => {
  const answer = (response: object) => (review: Review) => ({
    kind: 'ConversionReview',
    apiVersion: review.apiVersion,
    response: { uid: review.request.uid, result: { status: 'Success' }, ...response },
  })
  const changed = (change: (object: AnyObject) => object) => (review: Review) =>
    answer({
      convertedObjects: review.request.objects.map((object) =>
        change({ ...object, apiVersion: review.request.desiredAPIVersion }),
      ),
    })(review)

  it.each<[string, (review: Review) => object, string]>([
    ['fails', answer({ result: { status: 'Failure', message: 'cannot' } }), 'cannot'],
    ['returns too few', answer({ convertedObjects: [] }), 'returned 0 objects, expected 1'],
    ['answers something else', () => ({ kind: 'Pod' }), 'expected ConversionReview'],
    [
      'changes the name',
      changed((o) => ({ ...o, metadata: { ...o.metadata, name: 'x' } })),
      'metadata.name is immutable',
    ],
    ['converts to another version', changed((o) => ({ ...o, apiVersion: 'example.com/v9' })), 'invalid groupVersion'],
  ])('%s is not believed', async (_, response, message) => {
    webhook.answer = response
    const error = await failure(bench.create(v2, peer('bad', { host: 'z', port: '1' })))
    webhook.answer = undefined
    expect(error.code).toBe(500)
    expect(error.message).toContain('conversion webhook for example.com/v2, Kind=Peer failed')
    expect(error.message).toContain(message)
  })

  it('cannot be reached does not stop anything else', async () => {
    const lost = definition('losts', 'Lost') as AnyObject & {
      spec: { conversion: { webhook: { clientConfig: { service: { name: string } } } } }
    }
    lost.spec.conversion.webhook.clientConfig.service.name = 'nobody'
    await bench.define(lost)
    await bench.create(typeOf(lost, 'v1'), peer('one', { host: 'a:1' }))
    const error = await failure(bench.get(typeOf(lost, 'v2'), 'one'))
    expect(error.message).toContain('no endpoints available for service "default/nobody"')
    expect((await bench.get(typeOf(lost, 'v1'), 'one')).spec).toEqual({ host: 'a:1' })
  })

  it('changes other metadata than labels and annotations is corrected', async () => {
    webhook.convert = (object, apiVersion) => ({
      ...(splitHost(object, apiVersion) as AnyObject),
      metadata: { ...object.metadata, labels: { made: 'so' }, finalizers: ['example.com/x'] },
    })
    await bench.create(v1, peer('meta', { host: 'm:1' }))
    const { metadata } = await bench.get(v2, 'meta')
    webhook.convert = splitHost
    expect(metadata.labels).toEqual({ made: 'so' })
    expect(metadata.finalizers).toBeUndefined()
  })
})
