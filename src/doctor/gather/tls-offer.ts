import { type ConnectionOptions, connect, getCiphers, type PeerCertificate, type TLSSocket } from 'node:tls'
import type { CertificateFact, TlsFacts } from '../facts.ts'
import type { Credentials } from './inspected.ts'

const PATIENCE_MS = 5000
/** Forward secrecy and authenticated encryption; TLS 1.3 has nothing else. */
const STRONG = new Set([
  'ecdhe-ecdsa-aes128-gcm-sha256',
  'ecdhe-ecdsa-aes256-gcm-sha384',
  'ecdhe-ecdsa-chacha20-poly1305',
  'ecdhe-rsa-aes128-gcm-sha256',
  'ecdhe-rsa-aes256-gcm-sha384',
  'ecdhe-rsa-chacha20-poly1305',
])
/** This side offers what OpenSSL usually does not, to see whether the other takes it. */
const ANYTHING = '@SECLEVEL=0'
const OLD_PROTOCOLS = ['TLSv1', 'TLSv1.1'] as const

/** What a TLS port shows and accepts; undefined if there is none. */
export async function tlsOffer(host: string, port: number, { ca }: Credentials): Promise<TlsFacts | undefined> {
  const trusted = await handshake({ host, port, ca }, read)
  const shown = trusted ?? (await handshake({ host, port, rejectUnauthorized: false }, read))
  if (!shown) return undefined
  return { isTrusted: trusted !== undefined, certificate: shown.certificate, weak: await weakOnes(host, port) }
}

const read = (socket: TLSSocket) => ({
  cipher: socket.getCipher().name,
  certificate: factOf(socket.getPeerCertificate()),
})

function factOf({ subject, issuer, valid_from: from, valid_to: to }: PeerCertificate): CertificateFact {
  const nameOf = (name: PeerCertificate['subject'] | undefined) => String(name?.CN ?? '')
  return { subject: nameOf(subject), issuer: nameOf(issuer), notBefore: Date.parse(from), notAfter: Date.parse(to) }
}

async function weakOnes(host: string, port: number): Promise<string[]> {
  const found: string[] = []
  for (const version of OLD_PROTOCOLS) {
    const options = { minVersion: version, maxVersion: version, ciphers: `ALL:${ANYTHING}` }
    if (await handshake({ host, port, rejectUnauthorized: false, ...options }, read)) found.push(version)
  }
  // Each handshake tells one suite that is accepted; it is left out of the next.
  let offered = getCiphers().filter((name) => !STRONG.has(name) && !name.startsWith('tls_'))
  while (offered.length > 0) {
    const ciphers = `${offered.map((name) => name.toUpperCase()).join(':')}:${ANYTHING}`
    const taken = await handshake(
      { host, port, rejectUnauthorized: false, minVersion: 'TLSv1.2', maxVersion: 'TLSv1.2', ciphers },
      read,
    )
    if (!taken) break
    found.push(taken.cipher)
    offered = offered.filter((name) => name !== taken.cipher.toLowerCase())
  }
  return found
}

/** Undefined if there is no connection, or none that is trusted. */
function handshake<T>(options: ConnectionOptions, look: (socket: TLSSocket) => T): Promise<T | undefined> {
  return new Promise((resolve) => {
    let socket: TLSSocket
    try {
      socket = connect({ ...options, timeout: PATIENCE_MS })
    } catch {
      // OpenSSL of this machine does not know what was to be offered.
      resolve(undefined)
      return
    }
    const end = (answer: T | undefined) => {
      socket.destroy()
      resolve(answer)
    }
    socket.on('secureConnect', () => end(look(socket)))
    socket.on('timeout', () => end(undefined))
    socket.on('error', () => end(undefined))
  })
}
