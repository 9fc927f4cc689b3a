import { describe, expect, it } from 'vitest'
import type { CertificateSigningRequest } from '../../api/generated/certificates-v1.ts'
import { certificateSigningRequestKind } from '../../api/kinds/certificates/certificate-signing-request.ts'
import { admitted } from './admission.fixture.ts'
import { organizationsOf } from './certificate-subject.ts'
import { certificateSubjectRestriction } from './certificate-subject-restriction.ts'

/** `openssl req -new -subj /O=.../O=other/CN=alice` */
const MASTERS =
  'MIH1MIGbAgEAMDkxFzAVBgNVBAoMDnN5c3RlbTptYXN0ZXJzMQ4wDAYDVQQKDAVvdGhlcjEOMAwGA1UEAwwFYWxpY2UwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAAQsXAWWUB5YRHv5DuzkNhqWgJ5NzEjlvVw/H2gviE7yiLA1l7/ildiOUJ0/95z3HHk57adQ8l/1CdpE3BT9IGmqoAAwCgYIKoZIzj0EAwIDSQAwRgIhAM15z/UQT+udNRgAwAJbVKLGRo2RYs7P5+YYOcGuOX/CAiEA0Gq71FtAxb8JiUyY5pnmM3R3lhWmm2u9rXi/ccjn5Z0='
const DEVELOPERS =
  'MIHpMIGQAgEAMC4xDDAKBgNVBAoMA2RldjEOMAwGA1UECgwFb3RoZXIxDjAMBgNVBAMMBWFsaWNlMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE2YM5hUNZ4CDdnIxMkYcX8PGmmHDQ81TBURSh8L4xl+/jkT6dq7AGNhme77IRDSLNyCEXnU6i972a6iS0ouIuDaAAMAoGCCqGSM49BAMCA0gAMEUCIQDV9Ih6DqY8VeZKYwx9hX+3FTxN2672y7/0aK1nQgrV4QIgOTc4IcmZw1YRou+0ETxm9yuc3CBVF5Q6p4JrJoci4bU='
/** O and CN in one relative name. */
const MULTI_VALUED =
  'MIHjMIGJAgEAMCcxJTAMBgNVBAMMBWFsaWNlMBUGA1UECgwOc3lzdGVtOm1hc3RlcnMwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAARKokwXWq/oTEeDeA1ACGkQw+x7BSK4+aR/TbiScNdxsku7NxmJbdRDnCkNCUUdABST4AoDRH3jrDcV8HSQpgEroAAwCgYIKoZIzj0EAwIDSQAwRgIhAIw9luEpMk4yf9x2ndk+Kj4n8UNXtckI4Y+74KluWDMBAiEAp8AGXpaAEogSz/RJ6DEo63mNA4+zeq6g2HrZBy0sIaw='
/** The organization is a BMPString: two bytes per letter. */
const WIDE_LETTERS =
  'MIHuMIGWAgEAMDQxJTAjBgNVBAoeHABzAHkAcwB0AGUAbQA6AG0AYQBzAHQAZQByAHMxCzAJBgNVBAMeAgBhMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEQScUSwJzoua8omry75JEs6DkAfNzkNpGwXiY6AjRKqyxATLpLm7lRCpYSYVQOWXfEzuVXdAd8BVKc3KuLrF9UqAAMAoGCCqGSM49BAMCA0cAMEQCIBh49F9q3IWDjIfsc0u4J6VR873Uz1J6kOpXlCpc0pjsAiBZ6Q9lE2DaJ78oLZWRN8dJN3NGYL8HauBFmS60kv1zhg=='

const pem = (body: string) => `-----BEGIN CERTIFICATE REQUEST-----\n${body}\n-----END CERTIFICATE REQUEST-----\n`

describe('organizationsOf', () => {
  it.each([
    [MASTERS, ['system:masters', 'other']],
    [DEVELOPERS, ['dev', 'other']],
    [MULTI_VALUED, ['system:masters']],
  ])('%#', (body, expected) => expect(organizationsOf(pem(body))).toEqual(expected))

  it('stops at whatever is no request, however it is cut', () => {
    const whole = Buffer.from(MASTERS, 'base64')
    for (let length = 0; length < 60; length++)
      expect(() => organizationsOf(pem(whole.subarray(0, length).toString('base64')))).toThrow()
  })
})

describe('CertificateSubjectRestriction', () => {
  const CLIENT = 'kubernetes.io/kube-apiserver-client'
  const almighty = 'use of kubernetes.io/kube-apiserver-client signer with system:masters group is not allowed'
  it.each<[why: string, body: string, signerName: string, refusal?: string]>([
    ['of ordinary people', DEVELOPERS, CLIENT],
    ['of the almighty', MASTERS, CLIENT, almighty],
    ['of the almighty, hidden', MULTI_VALUED, CLIENT, almighty],
    ['that is unreadable', WIDE_LETTERS, CLIENT, 'failed to parse CSR: unsupported string type 30 in the subject'],
    ['that is none', 'AAAA', CLIENT, 'failed to parse CSR: asn1: syntax error: truncated tag or length'],
    ['for another signer', MASTERS, 'example.com/web'],
  ])('a request %s', async (_, body, signerName, refusal) => {
    const request = Buffer.from(pem(body)).toString('base64')
    const draft: CertificateSigningRequest = { metadata: { name: 'r' }, spec: { request, signerName, usages: [] } }
    const expected = refusal && `certificatesigningrequests.certificates.k8s.io "r" is forbidden: ${refusal}`
    expect(await admitted(certificateSubjectRestriction, certificateSigningRequestKind, draft)).toEqual(
      expected ?? draft,
    )
  })
})
