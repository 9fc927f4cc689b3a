import type { JsonObject } from '../api/meta/object.ts'
import type { DefinitionIndex } from './definition-index.ts'
import type { OpenApiData, QueryParameter } from './openapi-data.ts'
import type { Operation } from './operations.ts'
import {
  answers,
  bodyDefinition,
  byPath,
  CODE_TEXTS,
  kubernetesExtensions,
  MEDIA_TYPES,
  parametersOf,
  patchMediaTypes,
  pathParameters,
  usedDefinitions,
} from './paths.ts'

/** The OpenAPI v2 document of everything, made of the operations of one kind after the other. */
export class V2Document {
  readonly #index: DefinitionIndex
  readonly #data: OpenApiData
  readonly #shared = new Set(['pretty'])
  readonly #paths: [string, JsonObject][] = []
  readonly #definitions = new Map<string, JsonObject>()
  readonly #rendered: [string, JsonObject][] = []

  constructor(index: DefinitionIndex, data: OpenApiData) {
    this.#index = index
    this.#data = data
  }

  /** All operations of their paths. */
  add(operations: readonly Operation[]): void {
    for (const operation of operations)
      for (const name of parametersOf(operation, this.#data).shared) this.#shared.add(name)
    for (const [path, one] of byPath(operations)) this.#paths.push([path, pathItem(path, one, this.#index, this.#data)])
    const added = this.#index.addClosure(this.#definitions, usedDefinitions(operations, this.#index))
    for (const name of added) this.#rendered.push([name, definitionForV2(this.#definitions.get(name)!)])
  }

  finish(version: string): JsonObject {
    const parameters = [...this.#shared].sort().map((name) => [name, queryParameter(this.#data.parameters[name]!)])
    return {
      swagger: '2.0',
      info: { title: 'Kubernetes', version },
      paths: Object.fromEntries(this.#paths.sort(byName)),
      definitions: Object.fromEntries(this.#rendered.sort(byName)),
      parameters: Object.fromEntries(parameters),
      securityDefinitions: {
        BearerToken: {
          description: 'Bearer Token authentication',
          in: 'header',
          name: 'authorization',
          type: 'apiKey',
        },
      },
      security: [{ BearerToken: [] }],
    }
  }
}

const byName = ([a]: [string, JsonObject], [b]: [string, JsonObject]) => (a < b ? -1 : a > b ? 1 : 0)

const ONLY_V3 = new Set(['allOf', 'anyOf', 'oneOf', 'not', 'nullable'])
const KEEPS_UNKNOWN = 'x-kubernetes-preserve-unknown-fields'
const KIND = 'x-kubernetes-group-version-kind'

/** A kind that takes any field is any object: readers of v2 would miss all fields that it names none of. */
const definitionForV2 = (node: JsonObject): JsonObject =>
  node[KEEPS_UNKNOWN] && node[KIND] ? { type: 'object', [KIND]: node[KIND] } : forV2(node)

/** What v2 cannot say is left out, so that its readers accept the rest. */
function forV2(node: JsonObject): JsonObject {
  const unsaid = unsaidOf(node)
  const kept: JsonObject = {}
  for (const [key, value] of Object.entries(node)) {
    if (ONLY_V3.has(key) || unsaid.has(key)) continue
    if (key === 'properties') {
      const fields = Object.entries(value as JsonObject)
      kept.properties = Object.fromEntries(fields.map(([name, field]) => [name, forV2(field as JsonObject)]))
    } else if ((key === 'items' || key === 'additionalProperties') && typeof value === 'object') {
      kept[key] = forV2(value as JsonObject)
    } else if (key === 'required') kept[key] = requiredForV2(node)
    else kept[key] = value
  }
  return kept
}

/** Values that may be null or hold anything have no type and no parts in v2. */
function unsaidOf(node: JsonObject): ReadonlySet<string> {
  const parts = ['items', 'properties']
  if (node.nullable) return new Set(['type', ...parts])
  if (node[KEEPS_UNKNOWN]) return new Set(node.type === 'object' || node.type === 'array' ? ['type', ...parts] : parts)
  return new Set(node.type === 'array' && node.items === undefined ? ['type'] : [])
}

function requiredForV2({ required, properties = {} }: JsonObject): string[] {
  const mayBeNull = (field: string) => (properties as Record<string, JsonObject>)[field]?.nullable === true
  return (required as string[]).filter((field) => !mayBeNull(field))
}

const ref = (definition: string) => ({ $ref: `#/definitions/${definition}` })

function pathItem(path: string, operations: Operation[], index: DefinitionIndex, data: OpenApiData): JsonObject {
  const item: JsonObject = {}
  for (const operation of operations) item[operation.method] = renderOperation(operation, index, data)
  const parameters = pathParameters(path, operations[0]?.gvk?.kind).map(({ name, description }) => {
    return { name, in: 'path', description, required: true, type: 'string', uniqueItems: true }
  })
  item.parameters = [...parameters, { $ref: '#/parameters/pretty' }]
  return item
}

function renderOperation(operation: Operation, index: DefinitionIndex, data: OpenApiData): JsonObject {
  const { inline, shared } = parametersOf(operation, data)
  const body = bodyDefinition(operation, index)
  const isRequired = operation.body !== 'delete-options'
  const bodies =
    body === undefined ? [] : [{ name: 'body', in: 'body', ...(isRequired && { required: true }), schema: ref(body) }]
  return {
    tags: [operation.tag],
    description: operation.description,
    operationId: operation.id,
    consumes: operation.body === 'patch' ? patchMediaTypes(operation) : ['*/*'],
    produces:
      operation.answer === 'text'
        ? ['*/*']
        : [...MEDIA_TYPES, ...(operation.action === 'list' ? ['application/json;stream=watch'] : [])],
    schemes: ['https'],
    parameters: [...bodies, ...inline.map(queryParameter), ...shared.map((name) => ({ $ref: `#/parameters/${name}` }))],
    responses: responses(operation, index),
    ...kubernetesExtensions(operation),
  }
}

function responses(operation: Operation, index: DefinitionIndex): JsonObject {
  const all: JsonObject = {}
  for (const [code, definition] of answers(operation, index)) {
    all[code] = {
      description: CODE_TEXTS[code],
      schema: definition === undefined ? { type: 'string' } : ref(definition),
    }
  }
  all['401'] = { description: CODE_TEXTS['401'] }
  return all
}

const queryParameter = ({ name, type, description }: QueryParameter): JsonObject => ({
  name,
  in: 'query',
  ...(description && { description }),
  type,
  uniqueItems: true,
})
