import { createPrivateKey, generateKeyPairSync, type KeyObject, X509Certificate } from 'node:crypto'
import { mkdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { writeFileAtomically } from '../base/atomic-file.ts'
import type { Clock } from '../base/clock.ts'
import { parseIP } from '../base/ip-address.ts'
import {
  type CertificateRequest,
  certifyKey,
  createIssuer,
  type Issuer,
  issueCertificate,
  type KeyPair,
} from './x509/certificate.ts'

export type { KeyPair } from './x509/certificate.ts'
export { createCertificateSigningRequest, type RequestedSubject } from './x509/certificate-signing-request.ts'

export interface ClusterCertificates {
  readonly ca: KeyPair
  /** What the API server shows its clients. */
  readonly server: KeyPair
  /** A client of the group `system:masters`. */
  readonly admin: KeyPair
  /** By it the API server names users to extension API servers; its authority signs nothing else. */
  frontProxy(): Promise<KeyPair & { readonly ca: string }>
  /** PEM of the private key that signs service account tokens. */
  readonly serviceAccountKey: string
  /** A client certificate; the organizations are the groups of the user. */
  issueClient(commonName: string, organizations: readonly string[]): KeyPair
  /** A certificate for a server of the cluster: a kubelet, say. */
  issueServer(commonName: string, organizations: readonly string[], names: readonly string[]): KeyPair
  /** Signs a public key that somebody else made. */
  certify(publicKey: KeyObject, request: CertificateRequest): string
}

export interface CertificateOptions {
  /** Where certificates are kept over restarts; in memory only when absent. */
  readonly dir?: string
  readonly clock: Pick<Clock, 'now'>
  /** DNS names and IP addresses of the API server. */
  readonly serverNames: readonly string[]
}

const DAY = 24 * 60 * 60 * 1000
const CA_LIFETIME = 3650 * DAY
const LEAF_LIFETIME = 365 * DAY
/** Machines' clocks differ a little: a certificate counts from five minutes ago. */
const BACKDATE = 5 * 60 * 1000
const CA_SUBJECT = { commonName: 'sampan-ca' }
const FRONT_PROXY_CA_SUBJECT = { commonName: 'front-proxy-ca' }

/**
 * The certificates of a cluster: read from `dir`, and made where missing, near their end, or no longer fitting. The CA
 * stays the same over restarts, so that clients go on trusting it.
 */
export async function loadCertificates(options: CertificateOptions): Promise<ClusterCertificates> {
  const files = new PairFiles(options.dir)
  if (options.dir) await mkdir(options.dir, { recursive: true, mode: 0o700 })
  const now = options.clock.now()
  const leaf = { notBefore: now - BACKDATE, notAfter: now + LEAF_LIFETIME }
  const serverNames = [...new Set(options.serverNames)]

  const ca = await files.keep(
    'ca',
    (cert) => expiresAfter(cert, now + LEAF_LIFETIME),
    () => issueCa(CA_SUBJECT, now),
  )
  const issuer = createIssuer(CA_SUBJECT, ca.key)
  const isOurs = issuedBy(ca)
  const fresh = (cert: X509Certificate) => expiresAfter(cert, now + LEAF_LIFETIME / 2) && isOurs(cert)
  const serverRequest: CertificateRequest = {
    commonName: 'kube-apiserver',
    usage: 'server',
    subjectAltNames: serverNames,
    ...leaf,
  }
  const issueServer = () => issueCertificate(serverRequest, issuer)
  const issueAdmin = () => issueClient(issuer, 'kubernetes-admin', ['system:masters'], leaf)
  const [server, admin, serviceAccountKey] = await Promise.all([
    files.keep('apiserver', (cert) => fresh(cert) && answersTo(cert, serverNames), issueServer),
    files.keep('admin', fresh, issueAdmin),
    files.keepText('service-account.key', isPrivateKey, createSigningKey),
  ])
  let frontProxy: ReturnType<typeof loadFrontProxy> | undefined
  return {
    ca,
    server,
    admin,
    frontProxy() {
      frontProxy ??= loadFrontProxy(files, now, leaf)
      return frontProxy
    },
    serviceAccountKey,
    issueClient: (commonName, organizations) => issueClient(issuer, commonName, organizations, leaf),
    issueServer: (commonName, organizations, subjectAltNames) =>
      issueCertificate({ commonName, organizations, usage: 'server', subjectAltNames, ...leaf }, issuer),
    certify: (publicKey, request) => certifyKey(publicKey, request, issuer),
  }
}

async function loadFrontProxy(files: PairFiles, now: number, leaf: Validity): Promise<KeyPair & { ca: string }> {
  const ca = await files.keep(
    'front-proxy-ca',
    (cert) => expiresAfter(cert, now + LEAF_LIFETIME),
    () => issueCa(FRONT_PROXY_CA_SUBJECT, now),
  )
  const isOurs = issuedBy(ca)
  const client = await files.keep(
    'front-proxy-client',
    (cert) => expiresAfter(cert, now + LEAF_LIFETIME / 2) && isOurs(cert),
    () => issueClient(createIssuer(FRONT_PROXY_CA_SUBJECT, ca.key), 'front-proxy-client', [], leaf),
  )
  return { ...client, ca: ca.cert }
}

type Validity = Pick<CertificateRequest, 'notBefore' | 'notAfter'>

function issueClient(
  issuer: Issuer,
  commonName: string,
  organizations: readonly string[],
  validity: Validity,
): KeyPair {
  return issueCertificate({ commonName, organizations, usage: 'client', ...validity }, issuer)
}

function issueCa(subject: { commonName: string }, now: number): KeyPair {
  return issueCertificate({ ...subject, usage: 'ca', notBefore: now - BACKDATE, notAfter: now + CA_LIFETIME })
}

function createSigningKey(): string {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  return privateKey.export({ type: 'pkcs8', format: 'pem' }) as string
}

const expiresAfter = (cert: X509Certificate, time: number) => Date.parse(cert.validTo) > time

const issuedBy = (ca: KeyPair) => {
  const authority = new X509Certificate(ca.cert)
  return (cert: X509Certificate) => cert.checkIssued(authority) && cert.verify(authority.publicKey)
}

const answersTo = (cert: X509Certificate, names: readonly string[]) =>
  names.every((name) => (parseIP(name) ? cert.checkIP(name) : cert.checkHost(name)) !== undefined)

function isPrivateKey(pem: string): boolean {
  try {
    return createPrivateKey(pem).type === 'private'
  } catch {
    return false
  }
}

/** Key and certificate share one file, so that a crash cannot leave one without the other. */
class PairFiles {
  readonly #dir: string | undefined

  constructor(dir: string | undefined) {
    this.#dir = dir
  }

  async keep(name: string, isGood: (cert: X509Certificate) => boolean, create: () => KeyPair): Promise<KeyPair> {
    let pair: KeyPair | undefined
    const good = (text: string) => {
      pair = parsePair(text, isGood)
      return pair !== undefined
    }
    const make = () => {
      pair = create()
      return pair.cert + pair.key
    }
    await this.keepText(`${name}.pem`, good, make)
    return pair!
  }

  async keepText(file: string, isGood: (text: string) => boolean, create: () => string): Promise<string> {
    if (!this.#dir) return create()
    const path = join(this.#dir, file)
    const known = await readIfThere(path)
    if (known !== undefined && isGood(known)) return known
    const text = create()
    await writeFileAtomically(path, text)
    return text
  }
}

/** Undefined unless the text holds a good certificate and the private key that belongs to it. */
function parsePair(text: string, isGood: (cert: X509Certificate) => boolean): KeyPair | undefined {
  const cert = /-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----\n?/.exec(text)?.[0]
  const key = /-----BEGIN PRIVATE KEY-----[^-]*-----END PRIVATE KEY-----\n?/.exec(text)?.[0]
  if (cert === undefined || key === undefined) return undefined
  try {
    const certificate = new X509Certificate(cert)
    return certificate.checkPrivateKey(createPrivateKey(key)) && isGood(certificate) ? { cert, key } : undefined
  } catch {
    return undefined
  }
}

async function readIfThere(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}
