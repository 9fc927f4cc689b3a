import type { X509Certificate } from 'node:crypto'
import type { Clock } from '../../base/clock.ts'
import { createClient } from '../../client/client.ts'
import type { HttpTransport } from '../../client/http-transport.ts'
import { askForAll, tellAddress } from './enrol.ts'
import {
  CERTIFICATE_USES,
  type CertificateUse,
  type ClusterAddress,
  type NodeIdentity,
  readCertificate,
  writeCertificates,
} from './node-certificates.ts'

export interface RenewalOptions {
  readonly cluster: ClusterAddress
  readonly identity: NodeIdentity
  /** As the node. */
  readonly transport: HttpTransport
  /** How much of its life a certificate may have behind it, up to 1. */
  readonly share: number
  readonly clock: Clock
}

/** Asks for new certificates in place of those that are old, missing, or of another address. Returns which. */
export async function renewCertificates(options: RenewalOptions): Promise<readonly CertificateUse[]> {
  const { cluster, identity, transport, clock } = options
  const due: CertificateUse[] = []
  for (const use of CERTIFICATE_USES) {
    const certificate = await readCertificate(identity.dataDir, use)
    if (!certificate || isOld(certificate, options) || (use === 'serving' && !certificate.checkIP(identity.address)))
      due.push(use)
  }
  if (due.length === 0) return due
  const asNode = createClient(transport)
  if (due.includes('serving')) await tellAddress(asNode, identity)
  await writeCertificates(identity, cluster, await askForAll(asNode, identity, due, clock))
  return due
}

function isOld({ validFrom, validTo }: X509Certificate, { share, clock }: RenewalOptions): boolean {
  const [from, to] = [Date.parse(validFrom), Date.parse(validTo)]
  return clock.now() >= from + (to - from) * share
}
