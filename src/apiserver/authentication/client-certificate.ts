import { X509Certificate } from 'node:crypto'
import type { TLSSocket } from 'node:tls'
import { ANNOTATION } from '../../api/meta/well-known.ts'
import { AUTHENTICATED, type UserInfo } from '../identity.ts'

const users = new WeakMap<TLSSocket, UserInfo | null>()

/** Whether a certificate that the TLS layer found good is one of those that name users. */
export type IsUserCertificate = (certificate: X509Certificate) => boolean

/**
 * The user a verified client certificate names: CN is the name, each O a group. Read once per connection, because
 * asking the TLS layer costs more than the rest of a GET.
 */
export function userOfCertificate(socket: TLSSocket, isUser?: IsUserCertificate): UserInfo | undefined {
  let user = users.get(socket)
  if (user === undefined) {
    user = readCertificate(socket, isUser) ?? null
    users.set(socket, user)
  }
  return user ?? undefined
}

function readCertificate(socket: TLSSocket, isUser: IsUserCertificate | undefined): UserInfo | undefined {
  if (!socket.authorized) return undefined
  const certificate = socket.getPeerCertificate()
  const subject = certificate?.subject as { CN?: string | string[]; O?: string | string[] } | undefined
  const name = Array.isArray(subject?.CN) ? subject.CN.at(-1) : subject?.CN
  if (!name) return undefined
  if (isUser && !isUser(new X509Certificate(certificate.raw))) return undefined
  const groups = subject?.O === undefined ? [] : Array.isArray(subject.O) ? subject.O : [subject.O]
  const fingerprint = certificate.fingerprint256.replaceAll(':', '').toLowerCase()
  const extra = { [ANNOTATION.credentialId]: [`X509SHA256=${fingerprint}`] }
  return { name, groups: [...groups, AUTHENTICATED], extra }
}

/** Whether one of the authorities of a PEM bundle signed the certificate itself. */
export function issuedBy(authorities: string): IsUserCertificate {
  const pems = authorities.match(/-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g) ?? []
  const known = pems.map((pem) => new X509Certificate(pem))
  return (certificate) => known.some((ca) => certificate.checkIssued(ca) && certificate.verify(ca.publicKey))
}
