import { createPublicKey, X509Certificate } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { type CertificateRequest, certifyKey, createIssuer, issueCertificate } from './certificate.ts'
import { createCertificateSigningRequest } from './certificate-signing-request.ts'
import { organizationsOfRequest, parseSigningRequest } from './parse-signing-request.ts'

const validity = { notBefore: Date.UTC(2026, 0, 1), notAfter: Date.UTC(2027, 0, 1) }
const ca = issueCertificate({ commonName: 'test-ca', usage: 'ca', ...validity })
const issuer = createIssuer({ commonName: 'test-ca' }, ca.key)
const derOf = (pem: string) => Buffer.from(pem.split('\n').slice(1, -2).join(''), 'base64')

describe('issueCertificate', () => {
  it('signs itself when there is no issuer', () => {
    const cert = new X509Certificate(ca.cert)
    expect(cert.ca).toBe(true)
    expect(cert.verify(cert.publicKey)).toBe(true)
  })

  it.each<[string, Partial<CertificateRequest>, string]>([
    ['a client', { usage: 'client', organizations: ['dev', 'ops'] }, 'O=dev\nO=ops\nCN=web'],
    ['a server', { usage: 'server' }, 'CN=web'],
  ])('issues %s that the CA vouches for', (_, request, subject) => {
    const { cert, key } = issueCertificate({ commonName: 'web', usage: 'client', ...validity, ...request }, issuer)
    const leaf = new X509Certificate(cert)
    expect(leaf.subject).toBe(subject)
    expect(leaf.checkIssued(new X509Certificate(ca.cert))).toBe(true)
    expect(leaf.verify(createPublicKey(ca.cert))).toBe(true)
    expect(key).toContain('PRIVATE KEY')
    expect([Date.parse(leaf.validFrom), Date.parse(leaf.validTo)]).toEqual([validity.notBefore, validity.notAfter])
  })

  it('names DNS names and IP addresses of both families', () => {
    const subjectAltNames = ['web.example', '192.0.2.1', '2001:db8::1']
    const { cert } = issueCertificate({ commonName: 'web', usage: 'server', subjectAltNames, ...validity }, issuer)
    const leaf = new X509Certificate(cert)
    expect(leaf.checkHost('web.example')).toBe('web.example')
    expect(leaf.checkIP('192.0.2.1')).toBe('192.0.2.1')
    expect(leaf.checkIP('2001:db8::1')).toBe('2001:db8::1')
    expect(leaf.checkIP('192.0.2.2')).toBeUndefined()
  })
})

describe('a certificate signing request', () => {
  const { key } = issueCertificate({ commonName: 'unused', usage: 'client', ...validity })
  const subject = { commonName: 'system:node:a', organizations: ['system:nodes'], subjectAltNames: ['a', '10.0.0.1'] }
  const der = derOf(createCertificateSigningRequest(key, subject))

  it('is parsed to what was asked for', () => {
    const parsed = parseSigningRequest(der)
    expect(parsed).toMatchObject({ commonName: 'system:node:a', dnsNames: ['a'], ipAddresses: ['10.0.0.1'] })
    expect(organizationsOfRequest(der)).toEqual(['system:nodes'])
    const { publicKey } = parsed
    const cert = certifyKey(publicKey, { ...subject, usage: 'client', ...validity }, issuer)
    expect(new X509Certificate(cert).publicKey.equals(publicKey)).toBe(true)
  })

  it('is rejected when a byte of the subject changed after signing', () => {
    const changed = Buffer.from(der)
    changed[changed.indexOf('node')] = 'N'.charCodeAt(0)
    expect(() => parseSigningRequest(changed)).toThrow('not signed by the key it holds')
  })

  it('is rejected at every length but its own', () => {
    for (let length = 0; length < der.length; length++)
      expect(() => parseSigningRequest(der.subarray(0, length))).toThrow()
  })
})
