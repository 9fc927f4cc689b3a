import type { Kind } from '../../../api/kind.ts'
import type { Status } from '../../../api/meta/api-error.ts'
import { requestFields } from '../matching/request-fields.ts'
import type { SeenObjects } from '../matching/seen-request.ts'
import type { AdmissionRequest } from '../plugin.ts'

export interface ReviewResponse {
  readonly allowed: boolean
  readonly status: Partial<Status> | undefined
  /** Operations of a JSON patch; undefined where nothing is to be changed. */
  readonly patch: unknown[] | undefined
  readonly warnings: readonly string[]
  readonly auditAnnotations: Readonly<Record<string, string>>
}

/** The question, as admission.k8s.io words it. */
export function admissionReview(
  request: AdmissionRequest,
  kind: Kind,
  { object, old }: SeenObjects,
  reviewVersion: string,
  uid: string,
): object {
  return {
    kind: 'AdmissionReview',
    apiVersion: `admission.k8s.io/${reviewVersion}`,
    request: { uid, ...requestFields(request, kind), object: object ?? null, oldObject: old ?? null },
  }
}

interface Review {
  kind?: unknown
  apiVersion?: unknown
  response?: {
    uid?: unknown
    allowed?: unknown
    status?: Partial<Status>
    patch?: unknown
    patchType?: unknown
    warnings?: unknown
    auditAnnotations?: unknown
  }
}

/** Reads an answer and trusts nothing in it. Throws if it is none. */
export function readResponse(answer: unknown, reviewVersion: string, uid: string, isMutating: boolean): ReviewResponse {
  const { kind, apiVersion, response } = (isFields(answer) ? answer : {}) as Review
  if (!isFields(response)) throw new Error('webhook response was absent')
  const allowed = response.allowed === true
  const common = {
    allowed,
    status: isFields(response.status) ? response.status : undefined,
    warnings: Array.isArray(response.warnings) ? response.warnings.filter((text) => typeof text === 'string') : [],
    auditAnnotations: texts(response.auditAnnotations),
  }
  // The first version of reviews did not say which answer belongs to which question.
  if (reviewVersion === 'v1') {
    if (response.uid !== uid)
      throw new Error(`expected response.uid=${JSON.stringify(uid)}, got ${JSON.stringify(response.uid ?? '')}`)
    const expected = `admission.k8s.io/${reviewVersion}`
    if (apiVersion !== expected || kind !== 'AdmissionReview')
      throw new Error(
        `expected webhook response of ${expected}, Kind=AdmissionReview, got ${apiVersion ?? ''}, Kind=${kind ?? ''}`,
      )
    if (!isMutating && response.patch) throw new Error('validating webhook may not return response.patch')
    if (!isMutating && response.patchType) throw new Error('validating webhook may not return response.patchType')
    if (response.patch && response.patchType === undefined)
      throw new Error('webhook returned response.patch but not response.patchType')
  }
  return { ...common, patch: isMutating && allowed ? readPatch(response.patch, response.patchType) : undefined }
}

function readPatch(patch: unknown, type: unknown): unknown[] | undefined {
  if (patch === undefined || patch === null || patch === '') return undefined
  if (type !== undefined && type !== 'JSONPatch')
    throw new Error(`webhook returned invalid response.patchType of ${JSON.stringify(type)}`)
  const operations: unknown = JSON.parse(Buffer.from(String(patch), 'base64').toString())
  if (operations === null) return undefined
  if (!Array.isArray(operations)) throw new Error('the patch is not a list of operations')
  return operations
}

const isFields = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

function texts(value: unknown): Record<string, string> {
  if (!isFields(value)) return {}
  return Object.fromEntries(
    Object.entries(value).filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
  )
}
