import type { JSONSchemaProps } from '../../api/generated/apiextensions-v1.ts'
import { parseDuration, parseTimestamp } from '../../cel/parse-time.ts'
import {
  BOOL,
  BYTES,
  type CelType,
  DOUBLE,
  DURATION,
  DYN,
  INT,
  listOf,
  mapOf,
  objectOf,
  STRING,
  TIMESTAMP,
} from '../../cel/types.ts'
import { type CelMap, type CelValue, Duration, fromJson } from '../../cel/values.ts'

type Json = Readonly<Record<string, unknown>>

const KEYWORDS = new Set(
  'true false null in as break const continue else for function if import let loop package namespace return var void while'.split(
    ' ',
  ),
)

/** The name under which an expression reads a field whose own name it could not write. */
export function escapeField(name: string): string | undefined {
  if (KEYWORDS.has(name)) return `__${name}__`
  const escaped = name
    .replaceAll('__', '__underscores__')
    .replaceAll('.', '__dot__')
    .replaceAll('-', '__dash__')
    .replaceAll('/', '__slash__')
  return /^[A-Za-z_][A-Za-z0-9_]*$/.test(escaped) ? escaped : undefined
}

const META = objectOf('object', (name) => (name === 'name' || name === 'generateName' ? STRING : undefined))
const OBJECT_FIELDS: Readonly<Record<string, CelType>> = { apiVersion: STRING, kind: STRING, metadata: META }

const types = new WeakMap<JSONSchemaProps, CelType>()

/** The type of the values that a schema describes. `isObject`: a whole object with kind and metadata. */
export function celTypeOf(
  props: JSONSchemaProps,
  isObject = props['x-kubernetes-embedded-resource'] === true,
): CelType {
  const known = types.get(props)
  if (known) return known
  const type = makeType(props, isObject)
  types.set(props, type)
  return type
}

function makeType(props: JSONSchemaProps, isObject: boolean): CelType {
  if (props['x-kubernetes-int-or-string']) return DYN
  switch (props.type) {
    case 'object':
      return objectType(props, isObject)
    case 'array':
      return listOf(props.items && !Array.isArray(props.items) ? celTypeOf(props.items) : DYN)
    case 'integer':
      return props.nullable ? DYN : INT
    case 'number':
      return props.nullable ? DYN : DOUBLE
    case 'boolean':
      return props.nullable ? DYN : BOOL
    case 'string':
      return props.nullable ? DYN : (STRING_TYPES[props.format ?? ''] ?? STRING)
    default:
      return DYN
  }
}

const STRING_TYPES: Readonly<Record<string, CelType>> = {
  byte: BYTES,
  date: TIMESTAMP,
  'date-time': TIMESTAMP,
  duration: DURATION,
}

function objectType(props: JSONSchemaProps, isObject: boolean): CelType {
  const others = props.additionalProperties
  if (others) return mapOf(STRING, others === true ? DYN : celTypeOf(others))
  const { properties = {} } = props
  if (Object.keys(properties).length === 0 && props['x-kubernetes-preserve-unknown-fields'] && !isObject) return DYN
  const fields = new Map<string, JSONSchemaProps>()
  for (const [name, field] of Object.entries(properties)) fields.set(escapeField(name) ?? '', field)
  return objectOf('object', (name) => {
    if (isObject && Object.hasOwn(OBJECT_FIELDS, name)) return OBJECT_FIELDS[name]
    const field = fields.get(name)
    return field && celTypeOf(field)
  })
}

/** A JSON value in the types of its schema. */
export function celValueOf(value: unknown, props: JSONSchemaProps, isObject = isEmbedded(props)): CelValue {
  if (value === null || value === undefined) return null
  if (Array.isArray(value)) {
    const { items } = props
    return items && !Array.isArray(items) ? value.map((item) => celValueOf(item, items)) : value.map(fromJson)
  }
  switch (typeof value) {
    case 'object':
      return objectValue(value as Json, props, isObject)
    case 'number':
      if (props.type === 'number') return value
      return fromJson(value)
    case 'string':
      return props.type === 'string' ? stringValue(value, props.format) : value
    default:
      return value as CelValue
  }
}

const isEmbedded = (props: JSONSchemaProps) => props['x-kubernetes-embedded-resource'] === true

function objectValue(value: Json, props: JSONSchemaProps, isObject: boolean): CelMap {
  const map: CelMap = new Map()
  const { properties, additionalProperties: others } = props
  for (const [name, field] of Object.entries(value)) {
    if (isObject && name === 'metadata') map.set(name, metadataValue(field))
    else if (properties && Object.hasOwn(properties, name))
      map.set(escapeField(name) ?? name, celValueOf(field, properties[name]!))
    else if (others) map.set(name, others === true ? fromJson(field) : celValueOf(field, others))
    // What no schema speaks of cannot be read, except where nothing is known at all.
    else if (properties === undefined || (isObject && Object.hasOwn(OBJECT_FIELDS, name)))
      map.set(name, fromJson(field))
  }
  return map
}

function metadataValue(value: unknown): CelMap {
  const { name, generateName } = (value ?? {}) as { name?: string; generateName?: string }
  const map: CelMap = new Map()
  if (name !== undefined) map.set('name', name)
  if (generateName !== undefined) map.set('generateName', generateName)
  return map
}

function stringValue(text: string, format: string | undefined): CelValue {
  switch (format) {
    case 'byte':
      return new Uint8Array(Buffer.from(text, 'base64'))
    case 'duration': {
      const nanos = parseDuration(text)
      return nanos === undefined ? text : new Duration(nanos)
    }
    case 'date':
    case 'date-time':
      return parseTimestamp(format === 'date' ? `${text}T00:00:00Z` : text) ?? text
    default:
      return text
  }
}
