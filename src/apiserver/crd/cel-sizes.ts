import type { JSONSchemaProps } from '../../api/generated/apiextensions-v1.ts'
import type { Sized } from '../../cel/sizes.ts'
import { escapeField } from './cel-schema.ts'

/** The largest request of Kubernetes, whatever a server accepts: costs may not depend on that. */
export const MAX_REQUEST_BYTES = 3 * 1024 * 1024

/** How large the values of a schema can be, and how few bytes of JSON one takes at least. */
export interface SchemaSize extends Sized {
  readonly least: number
  readonly items?: SchemaSize
}

const MAX_TEXT = MAX_REQUEST_BYTES - 2
const MAP_KEY: SchemaSize = { max: 0, least: 2 }
const FORMATS: Readonly<Record<string, SchemaSize>> = {
  duration: { max: 32, least: 3 },
  date: { max: 12, least: 12 },
  'date-time': { max: 32, least: 21 },
}

const known = new WeakMap<JSONSchemaProps, SchemaSize | undefined>()

/** Undefined for values that rules cannot read. */
export function schemaSizeOf(
  props: JSONSchemaProps,
  isObject = props['x-kubernetes-embedded-resource'] === true,
): SchemaSize | undefined {
  if (!known.has(props)) known.set(props, makeSize(props, isObject))
  return known.get(props)
}

function makeSize(props: JSONSchemaProps, isObject: boolean): SchemaSize | undefined {
  if (props['x-kubernetes-int-or-string']) return { max: lengthOf(props) ?? MAX_TEXT, least: 1 }
  switch (props.type) {
    case 'array':
      return listSize(props)
    case 'object':
      return objectSize(props, isObject)
    case 'string':
      return textSize(props)
    case 'boolean':
      return { max: 0, least: 4 }
    case 'integer':
    case 'number':
      return { max: 0, least: 1 }
    default:
      return undefined
  }
}

/** A character may take four bytes. */
const lengthOf = ({ maxLength }: JSONSchemaProps) => (maxLength === undefined ? undefined : Math.max(0, maxLength) * 4)

function textSize(props: JSONSchemaProps): SchemaSize {
  const { format = '', maxLength } = props
  if (format === 'byte') return { max: maxLength === undefined ? MAX_TEXT : Math.max(0, maxLength), least: 2 }
  if (Object.hasOwn(FORMATS, format)) return FORMATS[format]!
  const values = (props.enum ?? []).filter((value) => typeof value === 'string')
  const longest = values.length > 0 ? Math.max(...values.map((value) => Buffer.byteLength(value))) : MAX_TEXT
  return { max: lengthOf(props) ?? longest, least: 2 }
}

function listSize({ items, maxItems }: JSONSchemaProps): SchemaSize | undefined {
  const item = items && !Array.isArray(items) ? schemaSizeOf(items) : undefined
  if (!item) return undefined
  const max = maxItems === undefined ? Math.floor(MAX_TEXT / (item.least + 1)) : Math.max(0, maxItems)
  return { max, least: 2, items: item }
}

function objectSize(props: JSONSchemaProps, isObject: boolean): SchemaSize | undefined {
  const { additionalProperties: others, maxProperties, required = [] } = props
  if (typeof others === 'object') {
    const value = schemaSizeOf(others)
    if (!value) return undefined
    const max = maxProperties === undefined ? Math.floor(MAX_TEXT / (value.least + 6)) : Math.max(0, maxProperties)
    return { max, least: 2, items: value, keys: MAP_KEY }
  }
  const fields = new Map<string, SchemaSize>()
  let least = 2
  const properties = Object.entries({ ...props.properties, ...(isObject && WHOLE_OBJECT) })
  for (const [name, field] of properties) {
    const size = schemaSizeOf(field)
    if (!size) continue
    const escaped = escapeField(name)
    if (escaped !== undefined) fields.set(escaped, size)
    // Quotes, a colon and a comma. What has a default need not be sent.
    if (required.includes(name) && field.default === undefined) least += Buffer.byteLength(name) + size.least + 4
  }
  return { max: 0, least, field: (name) => fields.get(name) }
}

const WHOLE_OBJECT: Readonly<Record<string, JSONSchemaProps>> = {
  apiVersion: { type: 'string' },
  kind: { type: 'string' },
  metadata: { type: 'object', properties: { name: { type: 'string' }, generateName: { type: 'string' } } },
}
