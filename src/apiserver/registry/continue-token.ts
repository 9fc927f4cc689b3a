import { type ApiError, badRequest, expired } from '../../api/meta/api-error.ts'

/** Where a chunked list goes on. Revision -1 means: from this key on, at whatever revision there is now. */
export interface ContinueToken {
  readonly revision: number
  /** The last key that was sent, relative to the list's scope. */
  readonly after: string
}

const VERSION = 'meta.k8s.io/v1'

export function encodeContinueToken({ revision, after }: ContinueToken): string {
  return Buffer.from(JSON.stringify({ v: VERSION, rv: revision, start: after })).toString('base64url')
}

export function decodeContinueToken(text: string): ContinueToken {
  let token: { v?: unknown; rv?: unknown; start?: unknown } | undefined
  try {
    token = JSON.parse(Buffer.from(text, 'base64url').toString())
  } catch {
    throw badRequest('continue key is not valid: it is not one that this server gave out')
  }
  const { v, rv, start } = token ?? {}
  if (v !== VERSION) throw badRequest('continue key is not valid: server does not recognize this encoded version')
  if (!Number.isSafeInteger(rv) || (rv as number) < -1 || rv === 0) {
    throw badRequest('continue key is not valid: incorrect encoded start resourceVersion (version meta.k8s.io/v1)')
  }
  if (typeof start !== 'string' || start === '' || start.startsWith('/') || start.includes('..')) {
    throw badRequest(
      'continue key is not valid: encoded start key empty or not below the listed resource (version meta.k8s.io/v1)',
    )
  }
  return { revision: rv as number, after: start }
}

/** The state the list began with has been compacted; the token in the answer goes on with what there is now. */
export function expiredContinue(after: string): ApiError {
  return expired(
    'The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list.',
    { continue: encodeContinueToken({ revision: -1, after }) },
  )
}
