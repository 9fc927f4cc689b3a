import { describe, expect, it } from 'vitest'
import { parseCertificateRequest } from './certificate-request.ts'
import { janeRequest, kubeletRequest, rsaRequest, servingRequest } from './requests.fixture.ts'

const base64 = (pem: string) => Buffer.from(pem).toString('base64')

describe('parseCertificateRequest', () => {
  const none = { dnsNames: [], ipAddresses: [], emailAddresses: [], uris: [] }
  it.each([
    [kubeletRequest, { commonName: 'system:node:n1', organizations: ['system:nodes'], ...none }],
    [janeRequest, { commonName: 'jane', organizations: ['dev', 'ops'], ...none }],
    [servingRequest, { ...none, dnsNames: ['n1'], ipAddresses: ['10.0.0.1', 'fd00::1'] }],
    [rsaRequest, { commonName: 'rsa', ...none, emailAddresses: ['a@example.com'], uris: ['spiffe://x'] }],
  ])('%#', (pem, expected) => expect(parseCertificateRequest(base64(pem))).toMatchObject(expected))

  it('refuses one that was changed after it was signed', () => {
    const der = Buffer.from(janeRequest.split('\n').slice(1, -2).join(''), 'base64')
    der[der.indexOf('jane')] = 'x'.charCodeAt(0)
    const pem = `-----BEGIN CERTIFICATE REQUEST-----\n${der.toString('base64')}\n-----END CERTIFICATE REQUEST-----\n`
    expect(() => parseCertificateRequest(base64(pem))).toThrow('not signed by the key it holds')
  })

  it('throws on anything else, and never hangs', () => {
    expect(() => parseCertificateRequest(base64('hello'))).toThrow('PEM block type must be CERTIFICATE REQUEST')
    const der = Buffer.from(servingRequest.split('\n').slice(1, -2).join(''), 'base64')
    for (let length = 0; length < der.length; length++) {
      const cut = der.subarray(0, length).toString('base64')
      const pem = `-----BEGIN CERTIFICATE REQUEST-----\n${cut}\n-----END CERTIFICATE REQUEST-----\n`
      expect(() => parseCertificateRequest(base64(pem))).toThrow()
    }
  })
})
