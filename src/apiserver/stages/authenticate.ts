import type { UserInfo } from '../identity.ts'
import type { Stage } from './stage.ts'

/** Finds out who sent the request: by certificate, token or front proxy. */
export const authenticate: Stage = ({ authenticator }, request, next) => {
  const goOn = (user: UserInfo) => {
    request.user = user
    request.audit?.identified(user)
    return next(request)
  }
  const user = authenticator.authenticate(request.exchange)
  return user instanceof Promise ? user.then(goOn) : goOn(user)
}
