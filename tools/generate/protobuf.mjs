import { INT_OR_STRING, JSON_PACKAGE, META_PACKAGE, QUANTITY, RAW_EXTENSION } from './group-versions.mjs'
import { readHelm } from './protobuf-archive.mjs'
import { readGoTypes } from './protobuf-go-types.mjs'
import { MESSAGES } from './protobuf-overlay.mjs'

/** Types that are messages on the wire and something shorter in JSON. */
const SPECIAL = {
  [QUANTITY]: 'quantity',
  [INT_OR_STRING]: 'intOrString',
  [RAW_EXTENSION]: 'raw',
  [`${META_PACKAGE}.FieldsV1`]: 'raw',
  [`${META_PACKAGE}.Time`]: 'time',
  [`${META_PACKAGE}.MicroTime`]: 'microTime',
  [`${JSON_PACKAGE}.JSON`]: 'raw',
  [`${JSON_PACKAGE}.JSONSchemaPropsOrArray`]: 'schemaOrArray',
  [`${JSON_PACKAGE}.JSONSchemaPropsOrBool`]: 'schemaOrBool',
  [`${JSON_PACKAGE}.JSONSchemaPropsOrStringArray`]: 'schemaOrStrings',
}
/** Lists that are a message of their own, because they stand where protobuf allows no list. */
const LIST_MESSAGE = /\.(ExtraValue|Verbs)$/
/** JSON only. */
const NO_MESSAGE = ['io.k8s.apimachinery.pkg.version.Info']
/** Not in the OpenAPI document, but on the wire. */
const EXTRA_ROOTS = ['PartialObjectMetadata', 'PartialObjectMetadataList'].map((name) => `${META_PACKAGE}.${name}`)

/**
 * The message of every type as one TypeScript module of texts, such as `replicas=1 int,minReadySeconds=5~int`: field
 * names of JSON, numbers of protobuf. `~` marks what Go's JSON leaves out when it is zero; that Go writes such a field
 * to the wire says nothing. `^` is a message whose fields stand directly in the object that holds it.
 */
export function renderMessages(definitionNames, cacheDirectory) {
  const structs = structsByDefinition(readGoTypes(readHelm(cacheDirectory)))
  const messages = { ...MESSAGES }
  const isMessage = (name) => structs.has(name) && !SPECIAL[name] && !NO_MESSAGE.includes(name)
  const waiting = [...definitionNames, ...EXTRA_ROOTS].filter(isMessage)
  for (const definition of waiting) {
    if (messages[definition] !== undefined) continue
    messages[definition] = renderFields(definition, structs.get(definition), (name) => waiting.push(name))
  }
  const lines = Object.keys(messages)
    .sort()
    .map((name) => `  '${name}':\n    '${messages[name]}',\n`)
  return `export const MESSAGE_TEXTS: Readonly<Record<string, string>> = {\n${lines.join('')}}\n`
}

function structsByDefinition(types) {
  const structs = types.filter((type) => type.kind === 'struct' && type.package?.startsWith('k8s.io/'))
  return new Map(structs.map((type) => [definitionOf(type), type]))
}

/** `k8s.io/api/core/v1` and `v1.Pod` -> `io.k8s.api.core.v1.Pod` */
function definitionOf(type) {
  const path = type.package.replace(/^k8s\.io\//, 'io.k8s.').replaceAll('/', '.')
  return `${path}.${type.name.slice(type.name.indexOf('.') + 1)}`
}

function renderFields(definition, struct, use) {
  const fields = struct.fields.map((field) => renderField(field, definition, use)).filter((text) => text !== undefined)
  if (fields.length === 0 && struct.fields.length > 0) throw new Error(`${definition} has no field with a number`)
  return fields.join(',')
}

function renderField({ name, tag, type }, definition, use) {
  const number = /protobuf:"\w+,(\d+)/.exec(tag)?.[1]
  if (number === undefined) return undefined
  const [jsonName, ...options] = /json:"([^"]*)"/.exec(tag)[1].split(',')
  if (options.includes('inline')) return `=${number}^${renderType(type, definition, use)}`
  if (jsonName === '') throw new Error(`${definition} has a field ${name} without a name`)
  return `${jsonName}=${number}${isDroppedAsZero(type, options) ? '~' : ' '}${renderType(type, definition, use)}`
}

function isDroppedAsZero(type, options) {
  if (type.kind === 'struct') return options.includes('omitzero')
  return (
    type.kind !== 'pointer' &&
    type.kind !== 'map' &&
    (type.kind !== 'slice' || isBytes(type)) &&
    options.includes('omitempty')
  )
}

const isBytes = (type) => type.kind === 'slice' && type.elem.kind === 'uint'
const SCALARS = { bool: 'bool', int: 'int', float: 'double', string: 'string' }

function renderType(type, definition, use) {
  if (SCALARS[type.kind]) return SCALARS[type.kind]
  if (type.kind === 'pointer') return renderType(type.elem, definition, use)
  if (isBytes(type)) return 'bytes'
  if (type.kind === 'slice' && LIST_MESSAGE.test(type.name)) return 'strings'
  if (type.kind === 'slice') return `[]${renderType(type.elem, definition, use)}`
  if (type.kind === 'map') return `{}${renderType(type.elem, definition, use)}`
  if (type.kind !== 'struct') throw new Error(`${definition} has a field of type ${type.name}`)
  return renderReference(definitionOf(type), definition, use)
}

/** Types of the same package go by their last name. */
function renderReference(target, definition, use) {
  if (SPECIAL[target]) return SPECIAL[target]
  use(target)
  const home = definition.slice(0, definition.lastIndexOf('.') + 1)
  return target.startsWith(home) ? `.${target.slice(home.length)}` : target
}
