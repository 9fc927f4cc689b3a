import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { certificateSigningRequestKind } from '../../api/kinds/certificates/certificate-signing-request.ts'
import { VirtualClock } from '../../base/virtual-clock.ts'
import { type ControlPlane, startControlPlane } from '../../testing/control-plane.ts'
import { type CertificateToSign, certificateSigningController } from './controller.ts'
import { janeRequest, kubeletRequest, servingRequest } from './requests.fixture.ts'

const HOUR = 3_600_000
const CERTIFICATE = '-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----\n'
let plane: ControlPlane
let clock: VirtualClock
let signed: CertificateToSign[]
beforeEach(async () => {
  clock = new VirtualClock()
  signed = []
  const sign = (certificate: CertificateToSign) => {
    signed.push(certificate)
    return CERTIFICATE
  }
  const certificateSigner = { notAfter: clock.now() + 400 * 24 * HOUR, sign }
  plane = await startControlPlane({
    clock,
    controllers: [(context) => certificateSigningController({ ...context, certificateSigner })],
  })
})
afterEach(() => plane[Symbol.asyncDispose]())

const requests = () => plane.client.resource(certificateSigningRequestKind)
const CLIENT = ['digital signature', 'client auth']
async function ask(pem: string, signerName: string, usages: string[], type = 'Approved', expirationSeconds?: number) {
  const created = await requests().create({
    metadata: { name: 'r' },
    spec: {
      request: Buffer.from(pem).toString('base64'),
      signerName: `kubernetes.io/${signerName}`,
      usages,
      ...(expirationSeconds !== undefined && { expirationSeconds }),
    },
  })
  const conditions = [{ type, status: 'True', reason: 'Test' }]
  await requests().subresource('update', 'r', 'approval', { ...created, status: { conditions } })
  await plane.settled()
  return (await requests().get('r')).status
}

describe('certificateSigningController', () => {
  it('signs what was approved', async () => {
    const status = await ask(janeRequest, 'kube-apiserver-client', CLIENT)
    expect(Buffer.from(status?.certificate ?? '', 'base64').toString()).toBe(CERTIFICATE)
    expect(signed).toMatchObject([{ subjectAltNames: [], usages: CLIENT }])
    expect(signed[0]?.subject.includes('jane')).toBe(true)
  })

  it('passes the names of a kubelet on', async () => {
    await ask(servingRequest, 'kubelet-serving', ['digital signature', 'key encipherment', 'server auth'])
    expect(signed[0]?.subjectAltNames).toEqual(['n1', '10.0.0.1', 'fd00::1'])
  })

  it.each([
    [undefined, 365 * 24 * HOUR - 300_000],
    [3600, HOUR],
    [10 * 365 * 24 * 3600, 365 * 24 * HOUR - 300_000],
  ])('for %s seconds', async (expirationSeconds, lifetime) => {
    await ask(janeRequest, 'kube-apiserver-client', CLIENT, 'Approved', expirationSeconds)
    expect(signed).toMatchObject([{ notBefore: clock.now() - 300_000, notAfter: clock.now() + lifetime }])
  })

  it.each([
    ['kubelet-serving', kubeletRequest, ['digital signature', 'server auth'], 'DNS or IP subjectAltName is required'],
    ['kube-apiserver-client-kubelet', janeRequest, CLIENT, 'subject organization is not system:nodes'],
    ['kube-apiserver-client-kubelet', servingRequest, CLIENT, 'DNS subjectAltNames are not allowed'],
    [
      'kube-apiserver-client-kubelet',
      kubeletRequest,
      ['client auth'],
      'usages did not match [client auth digital signature key encipherment]',
    ],
    ['kube-apiserver-client', janeRequest, ['server auth'], 'invalid usage for client certificate: server auth'],
    [
      'kube-apiserver-client',
      janeRequest,
      ['digital signature'],
      'missing required usage for client certificate: client auth',
    ],
  ])('%s: %#', async (signer, pem, usages, message) => {
    const status = await ask(pem, signer, usages)
    expect(status?.certificate).toBeUndefined()
    expect(status?.conditions?.at(-1)).toMatchObject({
      type: 'Failed',
      status: 'True',
      reason: 'SignerValidationFailure',
      message,
    })
    expect(signed).toEqual([])
  })

  it('signs nothing that was denied', async () => {
    expect((await ask(janeRequest, 'kube-apiserver-client', CLIENT, 'Denied'))?.certificate).toBeUndefined()
    expect(signed).toEqual([])
  })
})
