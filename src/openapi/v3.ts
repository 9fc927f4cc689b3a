import type { Json, JsonObject } from '../api/meta/object.ts'
import { type DefinitionIndex, sharedFields } from './definition-index.ts'
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

/** The OpenAPI v3 document of one group version. */
export function renderV3(
  operations: readonly Operation[],
  index: DefinitionIndex,
  data: OpenApiData,
  version: string,
): JsonObject {
  const schemas: JsonObject = {}
  for (const [name, definition] of index.closure(usedDefinitions(operations, index)))
    schemas[name] = index.isAuthored(name) ? authoredToV3(definition) : toV3(name, definition)
  const shared = new Set(['pretty', ...operations.flatMap((operation) => parametersOf(operation, data).shared)])
  const parameters = [...shared].sort().map((name) => [name, queryParameter(data.parameters[name]!)])
  return {
    openapi: '3.0.0',
    info: { title: 'Kubernetes', version },
    paths: Object.fromEntries([...byPath(operations)].map(([path, one]) => [path, pathItem(path, one, index, data)])),
    components: { schemas, parameters: Object.fromEntries(parameters) },
  }
}

const SPECIAL: Readonly<Record<string, JsonObject>> = {
  'io.k8s.apimachinery.pkg.api.resource.Quantity': { oneOf: [{ type: 'string' }, { type: 'number' }] },
  'io.k8s.apimachinery.pkg.util.intstr.IntOrString': {
    format: 'int-or-string',
    oneOf: [{ type: 'integer' }, { type: 'string' }],
  },
}

/** A v2 definition as v3 has it: references lead elsewhere, and may not have siblings. */
function toV3(name: string, definition: JsonObject): JsonObject {
  const special = SPECIAL[name]
  if (special === undefined) return convert(definition) as JsonObject
  return { description: definition.description, ...special }
}

/** Only the fields that all objects have refer to anything; the rest may be large and stays as it is. */
const authoredToV3 = (definition: JsonObject): JsonObject => ({
  ...definition,
  properties: { ...(definition.properties as JsonObject), ...(convert(sharedFields(definition)) as JsonObject) },
})

function convert(node: Json | undefined): Json | undefined {
  if (Array.isArray(node)) return node.map((item) => convert(item)!)
  if (typeof node !== 'object' || node === null) return node
  const converted: JsonObject = {}
  for (const [key, value] of Object.entries(node)) {
    if (key === '$ref' && typeof value === 'string') converted.$ref = schemaRef(value.slice('#/definitions/'.length))
    else converted[key] = KEPT.has(key) ? value : convert(value)
  }
  if (typeof converted.$ref !== 'string' || Object.keys(converted).length === 1) return converted
  const { $ref, ...siblings } = converted
  return { ...siblings, allOf: [{ $ref }] }
}

/** Values that only look like schemas. */
const KEPT = new Set(['default', 'enum', 'example', 'required', 'x-kubernetes-group-version-kind'])

const schemaRef = (definition: string) => `#/components/schemas/${definition}`
const content = (mediaTypes: readonly string[], schema: JsonObject): JsonObject =>
  Object.fromEntries(mediaTypes.map((type) => [type, { schema }]))

function pathItem(path: string, operations: Operation[], index: DefinitionIndex, data: OpenApiData): JsonObject {
  const item: JsonObject = {}
  for (const operation of operations) item[operation.method] = renderOperation(operation, index, data)
  const parameters = pathParameters(path, operations[0]?.gvk?.kind).map(({ name, description }) => {
    return { name, in: 'path', description, required: true, schema: { type: 'string', uniqueItems: true } }
  })
  item.parameters = [...parameters, { $ref: '#/components/parameters/pretty' }]
  return item
}

function renderOperation(operation: Operation, index: DefinitionIndex, data: OpenApiData): JsonObject {
  const { inline, shared } = parametersOf(operation, data)
  const references = shared.map((name) => ({ $ref: `#/components/parameters/${name}` }))
  const parameters = [...inline.map(queryParameter), ...references]
  const body = bodyDefinition(operation, index)
  const mediaTypes =
    operation.body === 'patch' ? patchMediaTypes(operation) : operation.body === 'object' ? ['*/*'] : MEDIA_TYPES
  return {
    tags: [operation.tag],
    description: operation.description,
    operationId: operation.id,
    ...(parameters.length > 0 && { parameters }),
    ...(body !== undefined && {
      requestBody: {
        content: content(mediaTypes, { $ref: schemaRef(body) }),
        ...(operation.body !== 'delete-options' && { required: true }),
      },
    }),
    responses: responses(operation, index),
    ...kubernetesExtensions(operation),
  }
}

function responses(operation: Operation, index: DefinitionIndex): JsonObject {
  const all: JsonObject = {}
  for (const [code, definition] of answers(operation, index)) {
    const schema = definition === undefined ? { type: 'string' } : { $ref: schemaRef(definition) }
    const mediaTypes = definition === undefined ? ['*/*'] : MEDIA_TYPES
    const watch = operation.action === 'list' ? ['application/json;stream=watch'] : []
    all[code] = { description: CODE_TEXTS[code], content: content([...mediaTypes, ...watch], schema) }
  }
  all['401'] = { description: CODE_TEXTS['401'] }
  return all
}

const queryParameter = ({ name, type, description }: QueryParameter): JsonObject => ({
  name,
  in: 'query',
  ...(description && { description }),
  schema: { type, uniqueItems: true },
})
