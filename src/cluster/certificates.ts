import { createPrivateKey, generateKeyPairSync, type KeyObject, X509Certificate } from 'node:crypto'
import { mkdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { writeFileAtomically } from '../base/atomic-file.ts'
import type { Clock } from '../base/clock.ts'
import { parseIP } from '../base/ip-address.ts'
import { once } from '../base/once.ts'
import {
  type CertificateRequest,
  certifyKey,
  createIssuer,
  type Issuer,
  issueCertificate,
  type KeyPair,
} from '../x509/certificate.ts'

export type { KeyPair } from '../x509/certificate.ts'

export interface ClusterCertificates {
  readonly ca: KeyPair
  /** What the API server shows its clients. */
  readonly server: KeyPair
  /** A client of the group `system:masters`. */
  readonly admin: KeyPair
  /** By it the API server names users to extension API servers; its authority signs nothing else. */
  frontProxy(): Promise<{ readonly ca: string; client(): KeyPair }>
  /** PEM of the private key that signs service account tokens. */
  readonly serviceAccountKey: string
  /** A client certificate; the organizations are the groups of the user. */
  issueClient(commonName: string, organizations: readonly string[]): KeyPair
  /** A certificate for a server of the cluster: a kubelet, say. */
  issueServer(commonName: string, organizations: readonly string[], names: readonly string[]): KeyPair
  /** Makes anew what has less than half of its life before it; tells whether there was any. */
  renew(): Promise<boolean>
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
  if (options.dir !== undefined) await mkdir(options.dir, { recursive: true, mode: 0o700 })
  const { clock } = options
  const serverNames = [...new Set(options.serverNames)]

  const ca = await files.keep(
    'ca',
    (cert) => expiresAfter(cert, clock.now() + LEAF_LIFETIME),
    () => issueCa(CA_SUBJECT, clock.now()),
  )
  const issuer = once(() => createIssuer(CA_SUBJECT, ca.key))
  const leaf = () => validityFrom(clock.now())
  const isFresh = freshOf(ca, clock)
  const server = new Kept(
    files,
    'apiserver',
    (cert) => isFresh(cert) && answersTo(cert, serverNames),
    () =>
      issueCertificate(
        { commonName: 'kube-apiserver', usage: 'server', subjectAltNames: serverNames, ...leaf() },
        issuer(),
      ),
  )
  const admin = new Kept(files, 'admin', isFresh, () =>
    issueClient(issuer(), 'kubernetes-admin', ['system:masters'], leaf()),
  )
  const [, , serviceAccountKey] = await Promise.all([
    server.renew(),
    admin.renew(),
    files.isKept
      ? files.keepText('service-account.key', isPrivateKey, createSigningKey).then((key) => () => key)
      : once(createSigningKey),
  ])
  let frontProxy: Promise<FrontProxy> | undefined
  return {
    ca,
    get server() {
      return server.pair
    },
    get admin() {
      return admin.pair
    },
    async frontProxy() {
      frontProxy ??= loadFrontProxy(files, clock)
      const { ca, client } = await frontProxy
      return { ca: ca.cert, client: () => client.pair }
    },
    get serviceAccountKey() {
      return serviceAccountKey()
    },
    issueClient: (commonName, organizations) => issueClient(issuer(), commonName, organizations, leaf()),
    issueServer: (commonName, organizations, subjectAltNames) =>
      issueCertificate({ commonName, organizations, usage: 'server', subjectAltNames, ...leaf() }, issuer()),
    async renew() {
      const all = [server, admin, ...(frontProxy ? [(await frontProxy).client] : [])]
      return (await Promise.all(all.map((one) => one.renew()))).includes(true)
    },
    certify: (publicKey, request) => certifyKey(publicKey, request, issuer()),
  }
}

interface FrontProxy {
  readonly ca: KeyPair
  readonly client: Kept
}

async function loadFrontProxy(files: PairFiles, clock: Pick<Clock, 'now'>): Promise<FrontProxy> {
  const ca = await files.keep(
    'front-proxy-ca',
    (cert) => expiresAfter(cert, clock.now() + LEAF_LIFETIME),
    () => issueCa(FRONT_PROXY_CA_SUBJECT, clock.now()),
  )
  const client = new Kept(files, 'front-proxy-client', freshOf(ca, clock), () =>
    issueClient(createIssuer(FRONT_PROXY_CA_SUBJECT, ca.key), 'front-proxy-client', [], validityFrom(clock.now())),
  )
  await client.renew()
  return { ca, client }
}

const validityFrom = (now: number): Validity => ({ notBefore: now - BACKDATE, notAfter: now + LEAF_LIFETIME })

/** Signed by this authority, with more than half of its life before it. */
function freshOf(ca: KeyPair, clock: Pick<Clock, 'now'>): (cert: X509Certificate) => boolean {
  const isOurs = issuedBy(ca)
  return (cert) => expiresAfter(cert, clock.now() + LEAF_LIFETIME / 2) && isOurs(cert)
}

/**
 * A pair that follows time: another one takes its place when it is no longer good. Where it is kept in memory alone, it
 * is made for the first who asks, since nobody may ever do.
 */
class Kept {
  readonly #files: PairFiles
  readonly #name: string
  readonly #isGood: (cert: X509Certificate) => boolean
  readonly #create: () => KeyPair
  #pair: KeyPair | undefined

  constructor(files: PairFiles, name: string, isGood: (cert: X509Certificate) => boolean, create: () => KeyPair) {
    this.#files = files
    this.#name = name
    this.#isGood = isGood
    this.#create = create
  }

  get pair(): KeyPair {
    this.#pair ??= this.#create()
    return this.#pair
  }

  async renew(): Promise<boolean> {
    if (!this.#pair && !this.#files.isKept) return false
    if (this.#pair && this.#isGood(new X509Certificate(this.#pair.cert))) return false
    this.#pair = await this.#files.keep(this.#name, this.#isGood, this.#create)
    return true
  }
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
  const authority = once(() => new X509Certificate(ca.cert))
  return (cert: X509Certificate) => cert.checkIssued(authority()) && cert.verify(authority().publicKey)
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

  /** Whether there is more than memory. */
  get isKept(): boolean {
    return this.#dir !== undefined
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
    if (this.#dir === undefined) return create()
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
