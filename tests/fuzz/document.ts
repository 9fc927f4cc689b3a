import type { ApiAccess } from '../tools/api.ts'
import { at, type Json } from '../tools/json.ts'

/** One operation of the served OpenAPI documents. */
export interface Operation {
  method: string
  /** With its {placeholders}. */
  path: string
  parameters: string[]
  /** The schema of the body, where one is sent. */
  body: Json | undefined
  /** What its references point into. */
  schemas: Record<string, Json>
}

const METHODS = ['get', 'post', 'put', 'patch', 'delete']

/** Reads every group version the server publishes. */
export async function readOperations(api: ApiAccess): Promise<Operation[]> {
  const index = at((await api.get('/openapi/v3')).object, 'paths') as Record<string, { serverRelativeURL: string }>
  const operations: Operation[] = []
  for (const { serverRelativeURL } of Object.values(index)) {
    const document = (await api.get(serverRelativeURL)).object
    operations.push(...operationsOf(document))
  }
  return operations
}

function* operationsOf(document: Json): Generator<Operation> {
  const schemas = (at(document, 'components.schemas') ?? {}) as Record<string, Json>
  for (const [path, item] of Object.entries((document.paths ?? {}) as Record<string, Json>)) {
    for (const method of METHODS.filter((name) => item[name])) {
      const operation = item[method] as Json
      const parameters = parametersOf(document, item, operation)
      const content = Object.values((at(operation, 'requestBody.content') ?? {}) as Record<string, Json>)
      yield {
        method: method.toUpperCase(),
        path,
        parameters: parameters.filter((entry) => entry.in === 'query').map((entry) => String(entry.name)),
        body: content[0]?.schema as Json | undefined,
        schemas,
      }
    }
  }
}

/** The parameters of an operation and of its path, references followed. */
export function parametersOf(document: Json, ...holders: Json[]): Json[] {
  const listed = holders.flatMap((holder) => (holder.parameters ?? []) as Json[])
  const shared = (at(document, 'components.parameters') ?? {}) as Record<string, Json>
  return listed.map((entry) => {
    const name = (entry.$ref as string | undefined)?.split('/').at(-1)
    return name === undefined ? entry : (shared[name] as Json)
  })
}
