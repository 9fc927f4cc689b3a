import { createHash } from 'node:crypto'
import { builtinType, type Kind } from '../api/kind.ts'
import type { JsonObject } from '../api/meta/object.ts'
import { fromStructural } from './custom-definitions.ts'
import { DefinitionIndex } from './definition-index.ts'
import { documentJson } from './document-json.ts'
import { type OpenApiData, openApiData } from './openapi-data.ts'
import { operationsOf, resourcesOperation, rootPath } from './operations.ts'
import { Slices } from './slices.ts'
import { V2Document } from './v2.ts'
import { encodeV2 } from './v2-protobuf.ts'
import { renderV3 } from './v3.ts'

/** What to send, for the HTTP layer to send it. */
export interface OpenApiAnswer {
  readonly status: 200 | 301 | 304 | 404 | 406
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer
}

export interface OpenApiOptions {
  readonly kinds: () => Iterable<Kind>
  /** The Kubernetes version that is served, such as `v1.36.0`. */
  readonly version: string
  /** The schema of a custom kind with its descriptions; without it the structural schema is published. */
  readonly described?: (kind: Kind) => JsonObject | undefined
  /** Stands for the schema of a custom kind where only a change of it matters. */
  readonly fingerprint?: (kind: Kind) => string | undefined
  readonly remote?: RemoteOpenApi
}

/** The documents of other servers. */
export interface RemoteOpenApi {
  /** By path below `/openapi/v3/`: where the document of each group version is. */
  v3Locations(): Iterable<readonly [path: string, url: string]>
  /** Changes with what would be merged. */
  v2Fingerprint(): string
  mergeV2(document: JsonObject): JsonObject
}

interface GroupVersionEntry {
  readonly hash: string
  readonly kinds: readonly Kind[]
}

/** The document of everything is made a few kinds at a time: others shall not wait for thousands. */
const KINDS_PER_SLICE = 8
/** Of rendered documents. */
const KEPT_BYTES = 64 << 20
const NOTHING = Buffer.alloc(0)
const JSON_TYPE = 'application/json'
/** Asked for with `@`, which a media type may not contain, and answered without. */
const V2_PROTOBUF_ASKED = /^application\/com\.github\.proto-openapi\.spec\.v2[@.]v1\.0\+protobuf$/
const V2_PROTOBUF = 'application/com.github.proto-openapi.spec.v2.v1.0+protobuf'

/**
 * The OpenAPI documents of all served kinds. Documents are made when asked for and kept until the kinds they describe
 * change; the hash of a group version follows from its kinds alone, so the index costs no rendering.
 */
export class OpenApi {
  readonly #options: OpenApiOptions
  /** By path below `/openapi/v3/`, such as `apis/apps/v1`. */
  #entries: ReadonlyMap<string, GroupVersionEntry> | undefined
  readonly #documents = new Map<string, { hash: string; body: Buffer }>()
  readonly #rendering = new Map<string, Promise<Buffer>>()
  readonly #kindHashes = new WeakMap<Kind, string>()

  constructor(options: OpenApiOptions) {
    this.#options = options
  }

  /** Kinds came, went or changed. Group versions that stayed as they are keep their documents. */
  invalidate(): void {
    this.#entries = undefined
  }

  /** `/openapi/v3`: where the document of each group version is. */
  async v3Index(): Promise<OpenApiAnswer> {
    const paths: JsonObject = {}
    for (const [path, hash] of await this.#hashes()) paths[path] = { serverRelativeURL: urlOf(path, hash) }
    for (const [path, url] of this.#options.remote?.v3Locations() ?? []) paths[path] = { serverRelativeURL: url }
    return ok(JSON_TYPE, Buffer.from(JSON.stringify({ paths })))
  }

  /** `/openapi/v3/<path>?hash=`. With the right hash the answer never changes; with an old one it is a redirect. */
  async v3(path: string, hash: string | undefined, request: ConditionalRequest = {}): Promise<OpenApiAnswer> {
    const entry = this.#groupVersions().get(path)
    if (entry === undefined) return empty(404)
    if (hash !== undefined && hash !== '' && hash !== entry.hash)
      return empty(301, { Location: urlOf(path, entry.hash) })
    if (!accepts(request.accept, (type) => type === JSON_TYPE)) return empty(406)
    const isPinned = hash === entry.hash
    const headers = {
      ETag: `"${entry.hash}"`,
      Vary: 'Accept',
      ...(isPinned && { 'Cache-Control': 'public, immutable, max-age=31536000' }),
    }
    if (request.ifNoneMatch?.includes(headers.ETag)) return empty(304, headers)
    const body = await this.#document(path, entry.hash, () => this.#renderV3(entry.kinds))
    return ok(JSON_TYPE, body, headers)
  }

  /** `/openapi/v2`, as JSON or as protobuf. */
  async v2(request: ConditionalRequest = {}): Promise<OpenApiAnswer> {
    const asProtobuf = (request.accept ?? '')
      .split(',')
      .some((entry) => V2_PROTOBUF_ASKED.test(entry.split(';')[0]!.trim()))
    if (!asProtobuf && !accepts(request.accept, (type) => type === JSON_TYPE)) return empty(406)
    const hash = hashOf([...(await this.#hashes()), this.#options.remote?.v2Fingerprint() ?? ''])
    const headers = { ETag: `"${hash}"`, Vary: 'Accept' }
    if (request.ifNoneMatch?.includes(headers.ETag)) return empty(304, headers)
    if (!asProtobuf) return ok(JSON_TYPE, await this.#document('v2', hash, () => this.#renderV2(false)), headers)
    return ok(V2_PROTOBUF, await this.#document('v2-protobuf', hash, () => this.#renderV2(true)), headers)
  }

  async #document(key: string, hash: string, render: () => Promise<Buffer>): Promise<Buffer> {
    const known = this.#documents.get(key)
    if (known?.hash === hash) return known.body
    // Whoever asks meanwhile waits for the same one.
    const rendered = `${key} ${hash}`
    const rendering = this.#rendering.get(rendered) ?? render()
    this.#rendering.set(rendered, rendering)
    try {
      const body = await rendering
      this.#keep(key, hash, body)
      return body
    } finally {
      this.#rendering.delete(rendered)
    }
  }

  /** The documents made longest ago go first: with a thousand groups, all of them are more than anybody reads twice. */
  #keep(key: string, hash: string, body: Buffer): void {
    this.#documents.delete(key)
    this.#documents.set(key, { hash, body })
    let bytes = 0
    for (const document of this.#documents.values()) bytes += document.body.length
    for (const [oldest, document] of this.#documents) {
      if (bytes <= KEPT_BYTES || oldest === key) return
      bytes -= document.body.length
      this.#documents.delete(oldest)
    }
  }

  async #renderV3(kinds: readonly Kind[]): Promise<Buffer> {
    const data = await openApiData()
    const operations = [resourcesOperation(kinds[0]!), ...kinds.flatMap(operationsOf)]
    return Buffer.from(JSON.stringify(renderV3(operations, this.#definitions(data), data, this.#options.version)))
  }

  async #renderV2(asProtobuf: boolean): Promise<Buffer> {
    const data = await openApiData()
    const groupVersions = [...this.#groupVersions().values()]
    const making = new V2Document(this.#definitions(data), data)
    const slices = new Slices(KINDS_PER_SLICE)
    for (const { kinds } of groupVersions) {
      making.add([resourcesOperation(kinds[0]!)])
      for (const kind of kinds) {
        making.add(operationsOf(kind))
        await slices.add(1)
      }
    }
    const own = making.finish(this.#options.version)
    const document = this.#options.remote?.mergeV2(own) ?? own
    return asProtobuf ? encodeV2(document) : documentJson(document)
  }

  #definitions(data: OpenApiData): DefinitionIndex {
    return new DefinitionIndex(data, this.#options.kinds(), (kind) => this.#options.described?.(kind))
  }

  #groupVersions(): ReadonlyMap<string, GroupVersionEntry> {
    this.#entries ??= this.#describeGroupVersions()
    return this.#entries
  }

  #describeGroupVersions(): Map<string, GroupVersionEntry> {
    const byPath = new Map<string, Kind[]>()
    for (const kind of this.#options.kinds()) {
      const path = rootPath(kind).slice(1)
      const kinds = byPath.get(path)
      if (kinds === undefined) byPath.set(path, [kind])
      else kinds.push(kind)
    }
    const sorted = [...byPath].sort(([a], [b]) => (a < b ? -1 : 1))
    return new Map(sorted.map(([path, kinds]) => [path, this.#describeGroupVersion(kinds)]))
  }

  /** Whoever asks for one document need not wait for the hashes of all. */
  #describeGroupVersion(kinds: readonly Kind[]): GroupVersionEntry {
    let hash: string | undefined
    const find = () => hashOf(kinds.map((kind) => this.#hashOfKind(kind)))
    return {
      kinds,
      get hash() {
        hash ??= find()
        return hash
      },
    }
  }

  /** A kind is never changed, only replaced: what is known to be all of it is hashed once. */
  #hashOfKind(kind: Kind): string {
    const known = this.#kindHashes.get(kind)
    if (known !== undefined) return known
    const schema = this.#options.fingerprint?.(kind) ?? builtinType(kind)
    const hash = hashOf([
      this.#options.version,
      operationsOf(kind),
      kind.listKind,
      schema ?? this.#options.described?.(kind) ?? fromStructural(kind.schema),
    ])
    if (schema !== undefined) this.#kindHashes.set(kind, hash)
    return hash
  }

  /** Of all group versions. After a start none is known yet, so that takes a while with thousands of kinds. */
  async #hashes(): Promise<readonly (readonly [path: string, hash: string])[]> {
    const slices = new Slices(KINDS_PER_SLICE)
    const hashes: [string, string][] = []
    for (const [path, entry] of [...this.#groupVersions()]) {
      for (const kind of entry.kinds) {
        if (this.#kindHashes.has(kind)) continue
        this.#hashOfKind(kind)
        await slices.add(1)
      }
      hashes.push([path, entry.hash])
    }
    return hashes
  }
}

/** Headers of the request that decide about the answer. */
export interface ConditionalRequest {
  readonly accept?: string | undefined
  readonly ifNoneMatch?: string | undefined
}

const hashOf = (facts: unknown) =>
  createHash('sha256').update(JSON.stringify(facts)).digest('hex').slice(0, 64).toUpperCase()

const urlOf = (path: string, hash: string) => `/openapi/v3/${path}?hash=${hash}`

const ok = (contentType: string, body: Buffer, headers: Record<string, string> = {}): OpenApiAnswer => ({
  status: 200,
  headers: { 'Content-Type': contentType, ...headers },
  body,
})

const empty = (status: OpenApiAnswer['status'], headers: Record<string, string> = {}): OpenApiAnswer => ({
  status,
  headers,
  body: NOTHING,
})

/** If any entry of an Accept header is one we can answer. No header and wildcards take everything. */
function accepts(accept: string | undefined, isKnown: (type: string) => boolean): boolean {
  if (accept === undefined || accept.trim() === '') return true
  const types = accept.split(',').map((entry) => entry.split(';')[0]!.trim().toLowerCase())
  return types.some((type) => isKnown(type) || ((type === '*/*' || type === 'application/*') && isKnown(JSON_TYPE)))
}
