import type { JsonObject } from '../api/meta/object.ts'
import { API_RESOURCE_LIST, DELETE_OPTIONS, type DefinitionIndex, PATCH, STATUS } from './definition-index.ts'
import type { OpenApiData, QueryParameter } from './openapi-data.ts'
import type { Operation } from './operations.ts'

export const MEDIA_TYPES = ['application/json', 'application/yaml']

export const patchMediaTypes = (operation: Operation): string[] => [
  'application/json-patch+json',
  'application/merge-patch+json',
  ...(operation.strategicMerge ? ['application/strategic-merge-patch+json'] : []),
  'application/apply-patch+yaml',
]

/** kubectl looks for these two by name in the operation itself, so they are never only referred to. */
const PROBED = new Set(['dryRun', 'fieldValidation'])

export interface OperationParameters {
  /** Written out in the operation. */
  readonly inline: readonly QueryParameter[]
  /** Names of shared parameters. */
  readonly shared: readonly string[]
}

export function parametersOf(operation: Operation, data: OpenApiData): OperationParameters {
  const known = operation.query.filter((name) => data.parameters[name] !== undefined)
  const probed = known.filter((name) => PROBED.has(name)).map((name) => brief(data.parameters[name]!))
  const connect = operation.connect === undefined ? [] : (data.connect[operation.connect] ?? [])
  return { inline: [...probed, ...connect], shared: known.filter((name) => !PROBED.has(name)) }
}

/** The first sentence: what is repeated in every operation should not be long. */
const brief = (parameter: QueryParameter): QueryParameter => ({
  ...parameter,
  description: /^.*?\.(?=\s|$)/s.exec(parameter.description ?? '')?.[0] ?? parameter.description ?? '',
})

/** Parameters of the path itself. */
export function pathParameters(path: string, kind: string | undefined): { name: string; description: string }[] {
  const parameters = []
  if (path.includes('{name}')) parameters.push({ name: 'name', description: `name of the ${kind ?? 'object'}` })
  if (path.includes('{namespace}')) {
    parameters.push({ name: 'namespace', description: 'object name and auth scope, such as for teams and projects' })
  }
  if (path.includes('{path}')) parameters.push({ name: 'path', description: 'path to the resource' })
  return parameters
}

/** The definition that a request body has, if any is known. */
export function bodyDefinition(operation: Operation, index: DefinitionIndex): string | undefined {
  if (operation.body === 'patch') return PATCH
  if (operation.body === 'delete-options') return DELETE_OPTIONS
  return operation.body === 'object' && operation.gvk ? index.ofKind(operation.gvk) : undefined
}

/** Status code -> the definition of the answer; undefined stands for text. */
export function answers(
  operation: Operation,
  index: DefinitionIndex,
): [code: string, definition: string | undefined][] {
  const definition = answerDefinition(operation, index)
  const codes = { get: [200], put: [200, 201], patch: [200, 201], post: [200, 201, 202], delete: [200] }[
    operation.method
  ]
  const all = operation.action === 'connect' ? [200] : operation.action === 'delete' ? [200, 202] : codes
  return all.map((code) => [String(code), definition])
}

function answerDefinition(operation: Operation, index: DefinitionIndex): string | undefined {
  const { gvk, listKind } = operation
  switch (operation.answer) {
    case 'list':
      return gvk && index.ofKind({ ...gvk, kind: listKind })
    case 'object':
      return gvk && index.ofKind(gvk)
    case 'resources':
      return API_RESOURCE_LIST
    case 'status':
      return STATUS
    case 'text':
      return undefined
  }
}

export const CODE_TEXTS: Readonly<Record<string, string>> = {
  200: 'OK',
  201: 'Created',
  202: 'Accepted',
  401: 'Unauthorized',
}

export const kubernetesExtensions = ({ action, gvk }: Operation): JsonObject => ({
  ...(action && { 'x-kubernetes-action': action }),
  ...(gvk && { 'x-kubernetes-group-version-kind': { ...gvk } }),
})

/** Path -> its operations, in the order of the paths' names. */
export function byPath(operations: readonly Operation[]): Map<string, Operation[]> {
  const paths = new Map<string, Operation[]>()
  for (const operation of operations.toSorted((a, b) => (a.path < b.path ? -1 : a.path > b.path ? 1 : 0))) {
    paths.set(operation.path, [...(paths.get(operation.path) ?? []), operation])
  }
  return paths
}

/** Definitions that operations need besides those of their kinds. */
export function usedDefinitions(operations: readonly Operation[], index: DefinitionIndex): Set<string> {
  const used = new Set<string>()
  for (const operation of operations) {
    const names = [bodyDefinition(operation, index), ...answers(operation, index).map(([, definition]) => definition)]
    for (const name of names) if (name !== undefined) used.add(name)
  }
  return used
}
