import { impersonate as actAs, wantsImpersonation } from '../authentication/impersonation.ts'
import { accessOf } from './authorize.ts'
import type { Stage } from './stage.ts'

/** Lets the sender act as another user (`kubectl --as`), if they have the right to. */
export const impersonate: Stage = ({ authorizer }, request, next) => {
  const { headers } = request.exchange
  if (!wantsImpersonation(headers)) return next(request)
  return actAs(authorizer, request.user, headers, accessOf(request)).then(({ user, constraint }) => {
    request.user = user
    request.audit?.actingAs(user, constraint)
    return next(request)
  })
}
