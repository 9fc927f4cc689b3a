import { unauthorized } from '../../api/meta/api-error.ts'
import type { Exchange } from '../http/exchange.ts'
import { userOfCertificate } from './client-certificate.ts'
import type { UserInfo } from './user.ts'

/** Finds out who sent a request. Throws 401 if nobody that is known here. */
export function authenticate(exchange: Exchange): UserInfo {
  const user = userOfCertificate(exchange.socket)
  if (!user) throw unauthorized()
  return user
}
