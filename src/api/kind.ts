import type { FieldError } from './meta/field-error.ts'
import type { KubernetesObject } from './meta/object.ts'
import { builtinSchema } from './schema/builtin.ts'
import type { Schema } from './schema/schema.ts'

/**
 * A kind is data. Routes, discovery, OpenAPI, validation, defaulting, pruning, merge keys, printing, selectable
 * fields and clients all derive from it. Custom resources become values of this same type at run time, so nothing
 * may assume a fixed list of kinds.
 * Hooks are methods, so that a `Kind<Pod>` is a `Kind`; they use no `this`.
 *
 * Hooks that take a `draft` may change it: it is private to the request. Every other object is shared: never
 * change it.
 */
export interface Kind<T extends KubernetesObject = KubernetesObject> {
  readonly group: string
  readonly version: string
  readonly kind: string
  readonly plural: string
  readonly singular: string
  readonly listKind: string
  readonly shortNames: readonly string[]
  readonly categories: readonly string[]
  readonly namespaced: boolean
  readonly verbs: readonly Verb[]
  readonly schema: Schema
  /** Made from a definition at run time: its schema is no built-in type, and dear to ask for. */
  readonly isCustom?: true

  /** Set on a version that is not the stored one: how objects cross over. Both directions work on drafts. */
  readonly conversion?: Conversion

  /** Fills what the user left out. Runs after the schema's own defaults on every object that is written. */
  defaults?(draft: T): void
  /** Checks `metadata.name`; a DNS subdomain when absent. Returns what is wrong, as upstream words it. */
  validateName?(name: string, isPrefix: boolean): string[]
  /** Clears what a user may not set on creation (status above all) and sets what the server decides. */
  prepareCreate?(draft: T): void
  /** The same for an update of the main resource: keeps the status, raises the generation, ... */
  prepareUpdate?(draft: T, old: T): void
  validate?(object: T): FieldError[]
  /** Rules on the change alone; `validate` has already run on the new object. Immutable fields are named here. */
  validateUpdate?(object: T, old: T): FieldError[]
  /** `validateUpdate` does all of `validate` too, with the old object in hand: unchanged values may be let be. */
  readonly wholeUpdateValidation?: boolean
  /**
   * A field of the object: a list whose items no hook changes once they are stored. Items that a part of this process
   * sends back as they were handed to it are neither copied nor checked again.
   */
  readonly sharedItems?: string
  /** Sent to everyone who uses this version. */
  readonly deprecationWarning?: string
  /** Sent to the user as `Warning` headers. */
  warnings?(object: T, old: T | undefined): string[]

  /** Names what may stand in a field selector besides metadata.name and metadata.namespace. */
  readonly selectableFields: Readonly<Record<string, FieldReader<T>>>
  readonly columns: readonly Column<T>[]
  readonly subresources: Readonly<Record<string, Subresource<T>>>

  /** Deletion first sets a deletionTimestamp and waits; returns the seconds to wait for this object. */
  gracePeriod?(object: T, requested: number | undefined): number
  /** Runs once when an object that is held back is marked deleted (a namespace becomes Terminating). */
  beginDeletion?(draft: T): void
  /** Something else than metadata.finalizers keeps a deleted object (a namespace's spec.finalizers). */
  isHeld?(object: T): boolean
  /** A PUT to a name that does not exist creates it (leases, endpoints, events, ...). */
  readonly createOnUpdate: boolean
  /** A PUT without resourceVersion overwrites whatever is there. */
  readonly unconditionalUpdate: boolean
  /** What happens to dependents when the one who deletes does not say. */
  readonly garbageCollection: 'background' | 'orphan'
}

/** Reads one field. Written as a method so that `Kind<Pod>` is a `Kind`. */
export type FieldReader<T> = { read(object: T): string }['read']

export type Verb = 'get' | 'list' | 'watch' | 'create' | 'update' | 'patch' | 'delete' | 'deletecollection'

export interface Conversion {
  /** The version that is stored: the other `Kind` of the same group and plural, or of another group (events). */
  readonly storage: { group: string; version: string; plural: string }
  toStorage(draft: KubernetesObject): void
  fromStorage(draft: KubernetesObject): void
}

/** A printed column, as `kubectl get` shows it. */
export interface Column<T extends KubernetesObject = KubernetesObject> {
  readonly name: string
  readonly type: 'string' | 'integer' | 'number' | 'boolean' | 'date'
  readonly format?: string
  readonly description: string
  /** 0 is always shown, 1 only with `-o wide`. */
  readonly priority: number
  /** The cell. `now` is in milliseconds, for ages. */
  value(object: T, now: number): string | number | boolean | null
}

export type Subresource<T extends KubernetesObject = KubernetesObject> =
  | StatusSubresource<T>
  | ScaleSubresource<T>
  | ActionSubresource

/** Another door to the same object that writes only part of it (`status`, `ephemeralcontainers`, `resize`, ...). */
export interface StatusSubresource<T extends KubernetesObject = KubernetesObject> {
  readonly type: 'part'
  readonly verbs: readonly Verb[]
  /** Restores from `old` whatever this door may not change. For `status`: everything but status and annotations. */
  prepareUpdate(draft: T, old: T): void
  /** Replaces the kind's `validate` and `validateUpdate` for writes through this door. */
  validateUpdate?(object: T, old: T): FieldError[]
}

/** autoscaling/v1 Scale in front of the object. */
export interface ScaleSubresource<T extends KubernetesObject = KubernetesObject> {
  readonly type: 'scale'
  replicas(object: T): number
  setReplicas(draft: T, replicas: number): void
  statusReplicas(object: T): number
  selector(object: T): string
}

/** A request that is not an edit of the object: binding, eviction, token, log, exec, ... Served by `apiserver/registry`. */
export interface ActionSubresource {
  readonly type: 'action'
  readonly verbs: readonly Verb[]
  /** The kind that is posted, where it differs: `policy/v1 Eviction`, `authentication.k8s.io/v1 TokenRequest`. */
  readonly group: string
  readonly version: string
  readonly kind: string
}

export const ALL_VERBS: readonly Verb[] = [
  'create',
  'delete',
  'deletecollection',
  'get',
  'list',
  'patch',
  'update',
  'watch',
]

/** What must be said of a kind; the rest has a sensible value. */
export type KindDefinition<T extends KubernetesObject> = Pick<Kind<T>, 'group' | 'version' | 'kind' | 'plural'> &
  Partial<Omit<Kind<T>, 'schema'>> & {
    /** Or the name of a built-in type, such as `io.k8s.api.core.v1.Pod`: its schema is made when first asked for. */
    readonly schema: Schema | string
  }

export function defineKind<T extends KubernetesObject>({ schema, ...definition }: KindDefinition<T>): Kind<T> {
  return {
    singular: definition.kind.toLowerCase(),
    listKind: `${definition.kind}List`,
    shortNames: [],
    categories: [],
    namespaced: true,
    verbs: ALL_VERBS,
    selectableFields: {},
    columns: [],
    subresources: {},
    createOnUpdate: false,
    unconditionalUpdate: true,
    garbageCollection: 'background',
    ...definition,
    // Not in place of a plain field: V8 keeps objects where that happens in a slow form, and a kind is asked all the time.
    get schema() {
      return typeof schema === 'string' ? builtinSchema(schema) : schema
    },
  }
}

/** The built-in type that objects of a kind have, such as `io.k8s.api.core.v1.Pod`. */
export const builtinType = (kind: Kind): string | undefined => (kind.isCustom ? undefined : kind.schema.definition)
