import type { FieldError } from './field-error.ts'
import type { ListMeta } from './object.ts'

export interface Status {
  kind: 'Status'
  apiVersion: 'v1'
  metadata: ListMeta
  status: 'Success' | 'Failure'
  message?: string
  reason?: string
  details?: StatusDetails
  code?: number
}

export interface StatusDetails {
  name?: string
  group?: string
  kind?: string
  uid?: string
  causes?: { reason?: string; message?: string; field?: string }[]
  retryAfterSeconds?: number
}

/** What went wrong, as the Status object a client receives. The one kind of error that crosses the API. */
export class ApiError extends Error {
  override readonly name = 'ApiError'
  readonly code: number
  readonly reason: string
  readonly details: StatusDetails | undefined
  readonly listMeta: ListMeta

  constructor(code: number, reason: string, message: string, details?: StatusDetails, listMeta: ListMeta = {}) {
    super(message)
    this.code = code
    this.reason = reason
    this.details = details
    this.listMeta = listMeta
  }

  static fromStatus(status: Status): ApiError {
    return new ApiError(status.code ?? 500, status.reason ?? '', status.message ?? '', status.details, status.metadata)
  }

  toStatus(): Status {
    return {
      kind: 'Status',
      apiVersion: 'v1',
      metadata: this.listMeta,
      status: 'Failure',
      message: this.message,
      ...(this.reason !== '' && { reason: this.reason }),
      ...(this.details && { details: this.details }),
      code: this.code,
    }
  }
}

/** The resource an error is about: `{ group: 'apps', resource: 'deployments' }`. */
export interface ResourceRef {
  group: string
  resource: string
}

const qualified = (ref: ResourceRef) => (ref.group === '' ? ref.resource : `${ref.resource}.${ref.group}`)
const details = (ref: ResourceRef, name: string): StatusDetails => ({
  ...(name && { name }),
  ...(ref.group && { group: ref.group }),
  kind: ref.resource,
})

export const badRequest = (message: string) => new ApiError(400, 'BadRequest', message)

export const unauthorized = (message = 'Unauthorized') => new ApiError(401, 'Unauthorized', message)

export const forbiddenAccess = (ref: ResourceRef, name: string, message: string) =>
  new ApiError(
    403,
    'Forbidden',
    `${qualified(ref)}${name && ` ${JSON.stringify(name)}`} is forbidden: ${message}`,
    details(ref, name),
  )

export const objectNotFound = (ref: ResourceRef, name: string) =>
  new ApiError(404, 'NotFound', `${qualified(ref)} ${JSON.stringify(name)} not found`, details(ref, name))

/** No such path at all. */
export const pathNotFound = () => new ApiError(404, 'NotFound', 'the server could not find the requested resource', {})

export const methodNotSupported = (ref: ResourceRef, verb: string) =>
  new ApiError(
    405,
    'MethodNotAllowed',
    `${verb} is not supported on resources of kind ${JSON.stringify(qualified(ref))}`,
    {
      ...(ref.group && { group: ref.group }),
      kind: ref.resource,
    },
  )

export const notAcceptable = (supported: readonly string[]) =>
  new ApiError(406, 'NotAcceptable', `only the following media types are accepted: ${supported.join(', ')}`)

export const alreadyExists = (ref: ResourceRef, name: string) =>
  new ApiError(409, 'AlreadyExists', `${qualified(ref)} ${JSON.stringify(name)} already exists`, details(ref, name))

export const conflict = (ref: ResourceRef, name: string, message: string) =>
  new ApiError(
    409,
    'Conflict',
    `Operation cannot be fulfilled on ${qualified(ref)} ${JSON.stringify(name)}: ${message}`,
    details(ref, name),
  )

export const MODIFIED_MESSAGE =
  'the object has been modified; please apply your changes to the latest version and try again'

/** A list or watch asked for a state that is no longer kept. */
export const expired = (message: string, listMeta: ListMeta = {}) =>
  new ApiError(410, 'Expired', message, undefined, listMeta)

export const requestTooLarge = (message: string) => new ApiError(413, 'RequestEntityTooLarge', message)

export const unsupportedMediaType = (supported: readonly string[]) =>
  new ApiError(
    415,
    'UnsupportedMediaType',
    `the body of the request was in an unknown format - accepted media types include: ${supported.join(', ')}`,
  )

/** The object breaks rules of its kind; each cause names its field. */
export function invalidObject(
  ref: { group: string; kind: string },
  name: string,
  errors: readonly FieldError[],
): ApiError {
  const kind = ref.group === '' ? ref.kind : `${ref.kind}.${ref.group}`
  const lines = errors.map((e) => `${e.field}: ${e.message}`)
  const text = lines.length === 1 ? lines[0] : `[${lines.join(', ')}]`
  return new ApiError(422, 'Invalid', `${kind} ${JSON.stringify(name)} is invalid: ${text}`, {
    ...(name && { name }),
    ...(ref.group && { group: ref.group }),
    kind: ref.kind,
    causes: errors.map((e) => ({ reason: e.reason, message: e.message, field: e.field })),
  })
}

export const tooManyRequests = (message: string, retryAfterSeconds: number) =>
  new ApiError(429, 'TooManyRequests', message, { retryAfterSeconds })

export const internalError = (message: string) =>
  new ApiError(500, 'InternalError', `Internal error occurred: ${message}`, { causes: [{ message }] })

export const serviceUnavailable = (message: string) => new ApiError(503, 'ServiceUnavailable', message)

export const timeout = (message: string, retryAfterSeconds = 0) =>
  new ApiError(504, 'Timeout', `Timeout: ${message}`, { retryAfterSeconds })
