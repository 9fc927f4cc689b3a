import type {
  CustomResourceDefinition,
  CustomResourceDefinitionStatus,
  JSONSchemaProps,
} from '../../api/generated/apiextensions-v1.ts'
import type { Kind } from '../../api/kind.ts'
import { isConditionFalse } from '../../api/meta/conditions.ts'
import { apiVersionOf, type JsonObject } from '../../api/meta/object.ts'
import { formatTime } from '../../api/meta/time.ts'
import { getOrCreate } from '../../base/get-or-create.ts'
import type { Machinery } from '../registry/machinery.ts'
import type { CachedObject } from '../watch-cache/cached-object.ts'
import { storagePrefix } from '../watch-cache/storage-key.ts'
import type { EventBatch, ObjectFilter } from '../watch-cache/watcher.ts'
import { type Converter, trivialConverter } from './conversion.ts'
import { customKind } from './custom-kind.ts'
import { desiredStatus, isEstablished } from './definition-status.ts'
import type { EngineLoader } from './engines.ts'
import { GroupNames } from './names.ts'
import type { RuleEngines } from './rules.ts'
import { CustomForm } from './stored-form.ts'

export const DEFINITIONS = { group: 'apiextensions.k8s.io', version: 'v1', plural: 'customresourcedefinitions' }
const PREFIX = storagePrefix(DEFINITIONS)
/** `.../widgets.example.com` -> `example.com` */
export const groupOfKey = (key: string) => key.slice(key.indexOf('.', PREFIX.length) + 1)
const ALL: ObjectFilter = { id: 'definitions', keyPrefix: PREFIX, exactKey: false, matches: undefined }

/** Makes the converter of a definition whose versions differ in more than their names. */
export type MakeConverter = (definition: CustomResourceDefinition) => Converter

/** Where the text of a definition is: always the newest one, so that no older one is kept for it. */
interface Source {
  stored: CachedObject
  /** Stands for what the definition wants, whatever its status. */
  readonly fingerprint: string
}

interface Served {
  readonly source: Source
  /** The revision of the definition that the kinds were made from, and the names it was made with. */
  readonly made: string
  readonly kinds: readonly Kind[]
  /** The stored version, served or not. */
  readonly storage: Kind
}

/**
 * Turns definitions into kinds and keeps the table of kinds in step with them. A definition is served the moment it
 * is stored, before its writer is told; its status follows.
 */
export class CustomResources implements Disposable {
  readonly engines: EngineLoader
  readonly #machinery: Machinery
  readonly #makeConverter: MakeConverter
  readonly #served = new Map<string, Served>()
  readonly #sources = new WeakMap<Kind, Source>()
  /** By group, since names must be unique in one. */
  readonly #groups = new Map<string, GroupNames>()
  readonly #onChange: (key: string) => void
  /** Keys of definitions that would share their place in the store with a built-in resource. */
  readonly #builtin: ReadonlySet<string>
  #unsubscribe = () => {}
  #isOver = false

  /** `onChange` hears of every definition that came or changed, after its kinds are in the table. */
  constructor(
    machinery: Machinery,
    engines: EngineLoader,
    makeConverter: MakeConverter,
    onChange: (key: string) => void,
  ) {
    this.engines = engines
    this.#machinery = machinery
    this.#makeConverter = makeConverter
    this.#onChange = onChange
    this.#builtin = new Set([...machinery.kinds.list()].map(({ group, plural }) => `${PREFIX}${plural}.${group}`))
  }

  async start(): Promise<void> {
    const cache = await this.#machinery.feed.cache(PREFIX)
    if (this.#isOver) return
    for (const object of cache.select(ALL)) await this.engines.load(object.bytes)
    const subscription = cache.subscribe(ALL, {
      deliver: (batch) => this.#take(batch),
      // The cache is being replaced: begin again with the new one.
      end: () => void this.#restart(),
    })
    this.#unsubscribe = subscription.end
    const known = new Set(cache.select(ALL).map((object) => object.key))
    for (const key of [...this.#served.keys()]) if (!known.has(key)) this.#forget(key)
    this.#applyAll(known)
  }

  [Symbol.dispose](): void {
    this.#isOver = true
    this.#unsubscribe()
  }

  get(key: string): CachedObject | undefined {
    return this.#machinery.feed.loaded(PREFIX)?.get(key)
  }

  definition(key: string): CustomResourceDefinition | undefined {
    return this.get(key)?.object as CustomResourceDefinition | undefined
  }

  /** The kind that a definition's objects are stored as. */
  storageKind(key: string): Kind | undefined {
    return this.#served.get(key)?.storage
  }

  /** The status that a definition shall have. Names that it gets are its own from now on, before anybody is told. */
  judge(key: string, definition: CustomResourceDefinition): CustomResourceDefinitionStatus {
    const names = getOrCreate(this.#groups, definition.spec.group, () => new GroupNames())
    const status = desiredStatus(definition, names.usedByOthers(key), formatTime(this.#machinery.clock.now()))
    names.set(key, status.acceptedNames, isConditionFalse(status.conditions, 'NamesAccepted'))
    return status
  }

  /** Definitions of a group that may get a name that another one gives up. */
  waiting(group: string): string[] {
    return this.#groups.get(group)?.waiting() ?? []
  }

  /** The schema of a custom kind as its author wrote it, with descriptions. */
  described(kind: Kind): JsonObject | undefined {
    const source = this.#sources.get(kind)
    return source && (propsOf(source.stored, kind.version) as unknown as JsonObject)
  }

  /** Changes whenever what is published about a custom kind may have changed. */
  fingerprint(kind: Kind): string | undefined {
    return this.#sources.get(kind)?.fingerprint
  }

  async #restart(): Promise<void> {
    await this.#machinery.clock.sleep(0)
    if (!this.#isOver) await this.start()
  }

  #take(batch: EventBatch): void {
    for (const { type, object } of batch.events) {
      if (type === 'DELETED') this.#forget(object.key)
      else this.#apply(object.key)
      this.#onChange(object.key)
    }
  }

  #applyAll(keys: Iterable<string>): void {
    for (const key of keys) {
      this.#apply(key)
      this.#onChange(key)
    }
  }

  #forget(key: string): void {
    const group = groupOfKey(key)
    const names = this.#groups.get(group)
    if (names?.delete(key) && names.size === 0) this.#groups.delete(group)
    this.#serve(key, undefined)
  }

  #apply(key: string): void {
    const stored = this.get(key)
    if (stored === undefined) {
      this.#forget(key)
      return
    }
    const definition = stored.object as unknown as CustomResourceDefinition
    const status = this.judge(key, definition)
    if (!isEstablished(status) || this.#builtin.has(key)) {
      this.#serve(key, undefined)
      return
    }
    const { uid, generation, deletionTimestamp } = definition.metadata
    const made = JSON.stringify([uid, generation, deletionTimestamp, status.acceptedNames])
    const served = this.#served.get(key)
    if (served?.made === made) {
      served.source.stored = stored
      return
    }
    const engines = this.engines.loadedFor(stored.bytes)
    if (engines) this.#serve(key, this.#make(stored, { ...definition, status }, engines, made))
    // Another server took it in; here its engines are still missing.
    else void this.engines.load(stored.bytes).then(() => this.#apply(key))
  }

  /** No definition may stand in for a kind that is built in. */
  #isTaken({ group, version, kind }: Kind): boolean {
    const known = this.#machinery.kinds.byKind(group, version, kind)
    return known !== undefined && !this.#sources.has(known)
  }

  #serve(key: string, served: Served | undefined): void {
    const before = this.#served.get(key)?.kinds ?? []
    if (served) this.#served.set(key, served)
    else this.#served.delete(key)
    if (before.length === 0 && (served?.kinds.length ?? 0) === 0) return
    this.#machinery.kinds.replace(before, served?.kinds ?? [])
    // Who watches saw objects in a form that is over: they begin again.
    if (before[0]) this.#machinery.feed.loaded(storagePrefix(before[0]))?.close()
  }

  #make(stored: CachedObject, definition: CustomResourceDefinition, engines: RuleEngines, made: string): Served {
    const { group, conversion } = definition.spec
    const slim = withoutSchemas(definition)
    const { versions } = slim.spec
    const { uid, generation } = definition.metadata
    const source: Source = { stored, fingerprint: `${uid}/${generation}` }
    const converter = conversion?.strategy === 'Webhook' ? this.#makeConverter(slim) : trivialConverter
    const storageVersion = versions.find((version) => version.storage)!.name
    const kinds = new Map<string, Kind>()
    for (const version of versions) {
      if (!version.served && !version.storage) continue
      const props = () => propsOf(source.stored, version.name)
      const kind = customKind({ definition: slim, version, engines, props })
      const form = new CustomForm({
        id: `${made}/${version.name}`,
        kind,
        storageApiVersion: apiVersionOf({ group, version: storageVersion }),
        isUnchanged: definition.metadata.generation === 1,
        converter,
      })
      this.#machinery.kinds.setForm(kind, form)
      this.#sources.set(kind, source)
      kinds.set(version.name, kind)
    }
    const served = versions
      .filter((version) => version.served)
      .map((version) => kinds.get(version.name)!)
      .filter((kind) => !this.#isTaken(kind))
    return { source, made, kinds: served, storage: kinds.get(storageVersion)! }
  }
}

/** Kinds live as long as their definition; its schemas are most of it, and are read again when needed. */
function withoutSchemas(definition: CustomResourceDefinition): CustomResourceDefinition {
  const versions = definition.spec.versions.map(({ schema: _, ...version }) => version)
  return { ...definition, spec: { ...definition.spec, versions } }
}

function propsOf(stored: CachedObject, version: string): JSONSchemaProps {
  const { spec } = stored.object as unknown as CustomResourceDefinition
  return spec.versions.find((one) => one.name === version)?.schema?.openAPIV3Schema ?? { type: 'object' }
}
