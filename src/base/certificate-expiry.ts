import type { DetailedPeerCertificate, TLSSocket } from 'node:tls'

const known = new WeakMap<TLSSocket, number>()

/**
 * When the certificate that the other side showed ends, or an earlier one of those that vouch for it; in milliseconds
 * since the epoch. Infinity without one. Read once per connection, because asking the TLS layer is slow.
 */
export function certificateExpiry(socket: TLSSocket): number {
  let expiry = known.get(socket)
  if (expiry === undefined) {
    expiry = socket.authorized ? earliestOf(socket.getPeerCertificate(true)) : Number.POSITIVE_INFINITY
    known.set(socket, expiry)
  }
  return expiry
}

function earliestOf(leaf: DetailedPeerCertificate): number {
  let earliest = Number.POSITIVE_INFINITY
  const seen = new Set<DetailedPeerCertificate>()
  // A root is its own issuer.
  for (let one = leaf; one?.valid_to && !seen.has(one); one = one.issuerCertificate) {
    seen.add(one)
    earliest = Math.min(earliest, Date.parse(one.valid_to))
  }
  return earliest
}
