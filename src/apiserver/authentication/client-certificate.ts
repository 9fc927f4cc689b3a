import type { TLSSocket } from 'node:tls'
import type { UserInfo } from './user.ts'

const AUTHENTICATED = 'system:authenticated'
const users = new WeakMap<TLSSocket, UserInfo | null>()

/**
 * The user a verified client certificate names: CN is the name, each O a group. Read once per connection, because
 * asking the TLS layer costs more than the rest of a GET.
 */
export function userOfCertificate(socket: TLSSocket): UserInfo | undefined {
  let user = users.get(socket)
  if (user === undefined) {
    user = readCertificate(socket) ?? null
    users.set(socket, user)
  }
  return user ?? undefined
}

function readCertificate(socket: TLSSocket): UserInfo | undefined {
  if (!socket.authorized) return undefined
  const subject = socket.getPeerCertificate()?.subject as { CN?: string | string[]; O?: string | string[] } | undefined
  const name = Array.isArray(subject?.CN) ? subject.CN.at(-1) : subject?.CN
  if (!name) return undefined
  const groups = subject?.O === undefined ? [] : Array.isArray(subject.O) ? subject.O : [subject.O]
  return { name, groups: [...groups, AUTHENTICATED] }
}
