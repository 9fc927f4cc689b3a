import type { Kind } from '../../api/kind.ts'
import { badRequest, unsupportedMediaType } from '../../api/meta/api-error.ts'
import { apiVersionOf, type Json, type KubernetesObject } from '../../api/meta/object.ts'
import { builtinSchema } from '../../api/schema/builtin.ts'
import { checkShape, formatPath } from '../../api/schema/check-shape.ts'
import { type DecodedBody, decodeJson, MAX_WEIGHT, refuseHeavy, strictProblems } from '../../api/schema/decode.ts'
import { findDuplicateFields } from '../../api/schema/json-reader.ts'
import { countKeys, weigh } from '../../api/schema/json-scan.ts'
import { cloneJson } from '../../patch/json-value.ts'
import type { RequestBody, ResourceRequest } from '../request/resource-request.ts'
import { betweenSteps } from './between-steps.ts'
import { privateBut, type SharedItems } from './shared-items.ts'
import type { WriteOptions } from './write-options.ts'

export const JSON_TYPE = 'application/json'
export const YAML_TYPE = 'application/yaml'
const WRITABLE_TYPES = [JSON_TYPE, YAML_TYPE]

const SHAPE = { prune: true, defaults: true }
const PLAIN_SHAPE = { prune: true, defaults: false }

/**
 * A private draft of the object that was sent: parsed, of the right kind and shape, without unknown fields. May be
 * called again for another draft when a write has to be tried again.
 */
export async function decodeObject(
  request: ResourceRequest,
  options: WriteOptions,
  kind = request.kind,
  shared?: SharedItems,
): Promise<KubernetesObject> {
  if (!request.body) throw badRequest('the request has no body')
  const body = shared ? privateBut(shared) : decodeBody(request.body, kind.kind)
  await betweenSteps(request.bodyBytes)
  const draft = asObject(body.value)
  checkTypeMeta(draft, kind)
  checkDraft(draft, kind, body, request, options, [], shared)
  draft.apiVersion = apiVersionOf(kind)
  draft.kind = kind.kind
  return draft
}

/** Checks the shape of a draft; what a strict client would not like is refused or told as a warning. */
export function checkDraft(
  draft: KubernetesObject,
  kind: Kind,
  body: DecodedBody | undefined,
  request: ResourceRequest,
  options: WriteOptions,
  duplicates: readonly string[] = [],
  shared?: SharedItems,
): void {
  const report = checkShape(draft, kind.schema, shared ? { ...SHAPE, shared: shared.items } : SHAPE)
  // Only now: a field that was not sent must not be counted among those that were.
  draft.metadata ??= {}
  if (report.typeError) throw notThatKind(kind, report.typeError)
  if (options.fieldValidation === 'Ignore') return
  const problems = body
    ? strictProblems(body, report)
    : [...duplicates, ...report.unknownFields.map((path) => `unknown field ${JSON.stringify(formatPath(path))}`)]
  if (problems.length === 0) return
  // Custom kinds tell them by name, built-in ones as they stand in the body.
  if (kind.schema.definition === undefined) problems.sort()
  if (options.fieldValidation === 'Strict') throw notThatKind(kind, `strict decoding error: ${problems.join(', ')}`)
  for (const problem of problems) if (!request.warnings.includes(problem)) request.warnings.push(problem)
}

/** A patch, and the fields it names twice; what it does to the object is checked on the object. */
export function decodePatch(body: RequestBody): { value: unknown; duplicates: readonly string[] } {
  const { value, keys, duplicates, text } = decodeBody(body)
  if (keys < 0 || typeof value !== 'object' || value === null || keys === countKeys(value)) {
    return { value, duplicates }
  }
  return { value, duplicates: findDuplicateFields(text).map((path) => `duplicate field ${JSON.stringify(path)}`) }
}

/** A patch adds to what is there: together they may be more than a body may hold. `bytes` is how large both are. */
export function refuseGrownObject(draft: KubernetesObject, bytes: number): void {
  if (bytes > MAX_WEIGHT / 2) refuseHeavy(weigh(draft))
}

function notThatKind(kind: Kind, why: string): Error {
  return badRequest(
    `${kind.kind} in version ${JSON.stringify(kind.version)} cannot be handled as a ${kind.kind}: ${why}`,
  )
}

export function decodeBody(body: RequestBody, expectedKind?: string): DecodedBody {
  if (body.type === 'object') return { value: cloneJson(body.object as Json), keys: -1, duplicates: [], text: '' }
  if (body.type === 'decoded') return { ...body.decoded, value: cloneJson(body.decoded.value as Json) }
  if (body.mediaType !== JSON_TYPE) throw unsupportedMediaType(WRITABLE_TYPES)
  return decodeJson(body.bytes, expectedKind)
}

/** Bodies that are not objects of a kind that is stored, and the schemas they follow. */
const PLAIN_SCHEMAS = {
  Binding: 'io.k8s.api.core.v1.Binding',
  DeleteOptions: 'io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions',
  Eviction: 'io.k8s.api.policy.v1.Eviction',
  Scale: 'io.k8s.api.autoscaling.v1.Scale',
  TokenRequest: 'io.k8s.api.authentication.v1.TokenRequest',
}

/** One of those bodies, of the right shape. */
export function decodePlain(body: RequestBody, what: keyof typeof PLAIN_SCHEMAS): Record<string, unknown> {
  const { value } = decodeBody(body)
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw badRequest(`${what} must be a JSON object`)
  const report = checkShape(value, builtinSchema(PLAIN_SCHEMAS[what]), PLAIN_SHAPE)
  if (report.typeError) throw badRequest(`the body cannot be handled as a ${what}: ${report.typeError}`)
  return value as Record<string, unknown>
}

function asObject(value: unknown): KubernetesObject {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw badRequest("couldn't get version/kind; json parse error: json: cannot unmarshal the body into an object")
  }
  return value as KubernetesObject
}

/** Kind and version may be left out; if they are there they must be those of the path. */
function checkTypeMeta(draft: KubernetesObject, kind: Kind): void {
  const expected = apiVersionOf(kind)
  if (draft.apiVersion && draft.apiVersion !== expected) {
    throw badRequest(
      `the API version in the data (${String(draft.apiVersion)}) does not match the expected API version (${expected})`,
    )
  }
  if (draft.kind && draft.kind !== kind.kind) {
    throw badRequest(
      `${String(draft.kind)} in version ${JSON.stringify(kind.version)} cannot be handled as a ${kind.kind}: no kind ${JSON.stringify(draft.kind)} is served at this path`,
    )
  }
}
