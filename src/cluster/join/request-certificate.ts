import { generateKeyPairSync } from 'node:crypto'
import { certificateSigningRequestKind } from '../../api/kinds/certificates/certificate-signing-request.ts'
import type { Clock } from '../../base/clock.ts'
import type { Client } from '../../client/client.ts'
import type { KeyPair } from '../../x509/certificate.ts'
import { createCertificateSigningRequest, type RequestedSubject } from '../../x509/certificate-signing-request.ts'
import { UserError } from '../user-error.ts'

export interface WantedCertificate {
  readonly subject: RequestedSubject
  /** `kubernetes.io/...` */
  readonly signerName: string
  readonly use: 'client auth' | 'server auth'
}

const PATIENCE = 60_000
const INTERVAL = 100

/** Makes a key and asks the cluster for a certificate for it; resolves when somebody approved and the cluster signed. */
export async function requestCertificate(client: Client, wanted: WantedCertificate, clock: Clock): Promise<KeyPair> {
  const { subject, signerName, use } = wanted
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const key = privateKey.export({ type: 'pkcs8', format: 'pem' }) as string
  const requests = client.resource(certificateSigningRequestKind)
  const { metadata } = await requests.create({
    metadata: { generateName: 'node-csr-' },
    spec: {
      request: Buffer.from(createCertificateSigningRequest(key, subject)).toString('base64'),
      signerName,
      usages: ['digital signature', use],
    },
  })
  const name = metadata.name!
  for (const end = clock.now() + PATIENCE; clock.now() < end; await clock.sleep(INTERVAL)) {
    const { status } = await requests.get(name)
    if (status?.certificate) return { cert: Buffer.from(status.certificate, 'base64').toString(), key }
    const refusal = status?.conditions?.find(({ type }) => type === 'Denied' || type === 'Failed')
    if (refusal) throw new UserError(`the cluster refused ${subject.commonName} a certificate: ${refusal.message}`)
  }
  throw new UserError(`nobody approved the certificate of ${subject.commonName}`, [
    `Look at it on the first machine: kubectl describe csr ${name}`,
    `If it is right: kubectl certificate approve ${name}, and join again.`,
  ])
}
