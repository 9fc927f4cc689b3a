import type { Json, JsonObject } from '../api/meta/object.ts'
import { DocumentWriter } from './document-writer.ts'
import { Slices } from './slices.ts'

/**
 * The v2 document in the protobuf form of gnostic's OpenAPIv2.proto, which kubectl up to 1.28 asks for with no
 * alternative. Only messages and fields that our documents use are written.
 */
export async function encodeV2(document: JsonObject): Promise<Buffer> {
  const writer = new DocumentWriter(1 << 20)
  const info = objectOf(document.info)
  const paths = await inSlices(2, document.paths, pathItem)
  const definitions = await inSlices(1, document.definitions, schema)
  // The last field first: the writer goes backwards.
  writer.message(13, (w) => named(w, 1, document.securityDefinitions, securityDefinition))
  writer.each(listOf(document.security), (one) => writer.message(12, (w) => named(w, 1, one, () => {})))
  writer.message(10, (w) => named(w, 1, document.parameters, parameter))
  writer.parts(9, definitions)
  writer.parts(8, paths)
  writer.message(2, (w) => {
    w.string(2, textOf(info.version))
    w.string(1, textOf(info.title))
  })
  writer.string(1, textOf(document.swagger))
  return writer.finish()
}

/** The entries of a large map, a part for some of them. */
async function inSlices(field: number, map: Json | undefined, encode: Encode): Promise<Buffer[]> {
  const parts: Buffer[] = []
  const entries = Object.entries(objectOf(map))
  const slices = new Slices(1)
  for (let at = 0; at < entries.length; at += PER_SLICE) {
    const writer = new DocumentWriter(1 << 16)
    named(writer, field, Object.fromEntries(entries.slice(at, at + PER_SLICE)), encode)
    parts.push(writer.finish())
    await slices.add(1)
  }
  return parts
}

const PER_SLICE = 50

type Encode = (writer: DocumentWriter, node: JsonObject) => void

const objectOf = (node: Json | undefined) => (node ?? {}) as JsonObject
const listOf = (node: Json | undefined) => (node ?? []) as JsonObject[]
const textOf = (node: Json | undefined) => (typeof node === 'string' ? node : undefined)
const numberOf = (node: Json | undefined) => (typeof node === 'number' ? node : undefined)

/** A map, as a list of name and value. */
function named(writer: DocumentWriter, field: number, map: Json | undefined, encode: Encode): void {
  writer.each(Object.entries(objectOf(map)), ([name, value]) =>
    writer.message(field, (w) => {
      w.string(1, name)
      w.message(2, (inner) => encode(inner, objectOf(value)))
    }),
  )
}

function strings(writer: DocumentWriter, field: number, values: Json | undefined): void {
  writer.each((values ?? []) as string[], (value) => writer.string(field, value))
}

/** Values of any type travel as YAML, of which JSON is a part. */
const any = (writer: DocumentWriter, value: Json | undefined) => writer.string(2, `${JSON.stringify(value)}\n`)

function extensions(writer: DocumentWriter, field: number, node: JsonObject): void {
  const found = Object.entries(node).filter(([name]) => name.startsWith('x-'))
  writer.each(found, ([name, value]) =>
    writer.message(field, (w) => {
      w.string(1, name)
      w.message(2, (inner) => any(inner, value))
    }),
  )
}

const METHODS: readonly (readonly [string, number])[] = [
  ['get', 2],
  ['put', 3],
  ['post', 4],
  ['delete', 5],
  ['patch', 8],
]

const pathItem: Encode = (writer, node) => {
  for (const [method, field] of METHODS) {
    if (node[method] !== undefined) writer.message(field, (w) => operation(w, objectOf(node[method])))
  }
  writer.each(listOf(node.parameters), (one) => writer.message(9, (w) => parametersItem(w, one)))
}

const operation: Encode = (writer, node) => {
  strings(writer, 1, node.tags)
  writer.string(3, textOf(node.description))
  writer.string(5, textOf(node.operationId))
  strings(writer, 6, node.produces)
  strings(writer, 7, node.consumes)
  writer.each(listOf(node.parameters), (one) => writer.message(8, (w) => parametersItem(w, one)))
  writer.message(9, (w) => named(w, 1, node.responses, (inner, one) => inner.message(1, (r) => response(r, one))))
  strings(writer, 10, node.schemes)
  extensions(writer, 13, node)
}

const response: Encode = (writer, node) => {
  writer.string(1, textOf(node.description))
  if (node.schema !== undefined) writer.message(2, (w) => w.message(1, (s) => schema(s, objectOf(node.schema))))
}

const parametersItem: Encode = (writer, node) => {
  if (node.$ref === undefined) writer.message(1, (w) => parameter(w, node))
  else writer.message(2, (w) => w.string(1, textOf(node.$ref)))
}

const parameter: Encode = (writer, node) => {
  if (node.in === 'body') writer.message(1, (w) => bodyParameter(w, node))
  else if (node.in === 'query') writer.message(2, (w) => w.message(3, (q) => queryParameter(q, node)))
  else writer.message(2, (w) => w.message(4, (p) => pathParameter(p, node)))
}

const bodyParameter: Encode = (writer, node) => {
  writer.string(1, textOf(node.description))
  writer.string(2, textOf(node.name))
  writer.string(3, 'body')
  writer.bool(4, node.required === true)
  writer.message(5, (w) => schema(w, objectOf(node.schema)))
}

const queryParameter: Encode = (writer, node) => {
  writer.string(2, 'query')
  writer.string(3, textOf(node.description))
  writer.string(4, textOf(node.name))
  writer.string(6, textOf(node.type))
  writer.bool(20, node.uniqueItems === true)
}

const pathParameter: Encode = (writer, node) => {
  writer.bool(1, node.required === true)
  writer.string(2, 'path')
  writer.string(3, textOf(node.description))
  writer.string(4, textOf(node.name))
  writer.string(5, textOf(node.type))
  writer.bool(19, node.uniqueItems === true)
}

const schema: Encode = (writer, node) => {
  writer.string(1, textOf(node.$ref))
  writer.string(2, textOf(node.format))
  writer.string(4, textOf(node.description))
  if (node.default !== undefined) writer.message(5, (w) => any(w, node.default))
  schemaLimits(writer, node)
  strings(writer, 19, node.required)
  writer.each((node.enum ?? []) as Json[], (value) => writer.message(20, (w) => any(w, value)))
  const values = node.additionalProperties
  if (typeof values === 'object') writer.message(21, (w) => w.message(1, (s) => schema(s, objectOf(values))))
  else if (values === true) writer.message(21, (w) => w.bool(2, true))
  if (node.type !== undefined) writer.message(22, (w) => w.string(1, textOf(node.type)))
  if (node.items !== undefined) writer.message(23, (w) => w.message(1, (s) => schema(s, objectOf(node.items))))
  writer.each(listOf(node.allOf), (one) => writer.message(24, (w) => schema(w, one)))
  if (node.properties !== undefined) writer.message(25, (w) => named(w, 1, node.properties, schema))
  extensions(writer, 31, node)
}

const schemaLimits: Encode = (writer, node) => {
  writer.double(6, numberOf(node.multipleOf))
  writer.double(7, numberOf(node.maximum))
  writer.bool(8, node.exclusiveMaximum === true)
  writer.double(9, numberOf(node.minimum))
  writer.bool(10, node.exclusiveMinimum === true)
  writer.int(11, numberOf(node.maxLength))
  writer.int(12, numberOf(node.minLength))
  writer.string(13, textOf(node.pattern))
  writer.int(14, numberOf(node.maxItems))
  writer.int(15, numberOf(node.minItems))
  writer.bool(16, node.uniqueItems === true)
  writer.int(17, numberOf(node.maxProperties))
  writer.int(18, numberOf(node.minProperties))
}

const securityDefinition: Encode = (writer, node) => {
  writer.message(2, (w) => {
    w.string(1, textOf(node.type))
    w.string(2, textOf(node.name))
    w.string(3, textOf(node.in))
    w.string(4, textOf(node.description))
  })
}
