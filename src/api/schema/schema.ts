/**
 * A structural schema: what an object of a kind may look like. Built-in kinds and custom resources use the same
 * form, so one interpreter validates, prunes, defaults and merges all of them. Recursive types are cyclic graphs:
 * the same `Schema` object is shared wherever a type is used. Never changed after it was made.
 */
export interface Schema {
  readonly type?: 'object' | 'array' | 'string' | 'integer' | 'number' | 'boolean'
  readonly format?: string
  /** Fields of an object. */
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  /** Values of a map. An object with neither properties nor this has only unknown fields. */
  readonly additionalProperties?: Schema
  /** Items of an array. */
  readonly items?: Schema
  /** Takes an integer or a string. */
  readonly intOrString?: true
  /** Unknown fields below are kept (any JSON, raw extensions). */
  readonly preserveUnknownFields?: true
  /** A whole object with apiVersion, kind and metadata stands here. */
  readonly embeddedResource?: true
  readonly nullable?: true
  readonly default?: unknown

  readonly enum?: readonly unknown[]
  readonly pattern?: string
  readonly minimum?: number
  readonly maximum?: number
  readonly exclusiveMinimum?: boolean
  readonly exclusiveMaximum?: boolean
  readonly multipleOf?: number
  readonly minLength?: number
  readonly maxLength?: number
  readonly minItems?: number
  readonly maxItems?: number
  readonly uniqueItems?: boolean
  readonly minProperties?: number
  readonly maxProperties?: number
  readonly allOf?: readonly Schema[]
  readonly anyOf?: readonly Schema[]
  readonly oneOf?: readonly Schema[]
  readonly not?: Schema

  /** How lists merge in server-side apply; atomic when absent. */
  readonly listType?: 'atomic' | 'set' | 'map'
  readonly listMapKeys?: readonly string[]
  readonly mapType?: 'atomic' | 'granular'
  /** How lists and maps merge in a strategic merge patch. */
  readonly patchStrategy?: readonly ('merge' | 'replace' | 'retainKeys')[]
  readonly patchMergeKey?: string

  /** The definition this came from, such as `io.k8s.api.core.v1.PodSpec`; its last part names the Go type in messages. */
  readonly definition?: string
}
