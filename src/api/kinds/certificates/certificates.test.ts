import { describe, expect, it } from 'vitest'
import type { CertificateSigningRequest } from '../../generated/certificates-v1.ts'
import type { StatusSubresource } from '../../kind.ts'
import { cells, describeRules, shownErrors } from '../core/rules.contract.ts'
import { certificateSigningRequestKind } from './certificate-signing-request.ts'

type Request = CertificateSigningRequest

const pem = (type: string, bytes: number[]) =>
  Buffer.from(`-----BEGIN ${type}-----\n${Buffer.from(bytes).toString('base64')}\n-----END ${type}-----\n`).toString(
    'base64',
  )
const SEQUENCE = [0x30, 3, 2, 1, 5]
const request = (): Request => ({
  metadata: { name: 'node:a' },
  spec: {
    request: pem('CERTIFICATE REQUEST', SEQUENCE),
    signerName: 'kubernetes.io/kube-apiserver-client',
    usages: ['client auth'],
  },
})
const withConditions = (...types: string[]): Request => ({
  ...request(),
  status: { conditions: types.map((type) => ({ type, status: 'True' })) },
})

describeRules(certificateSigningRequestKind, request(), [
  [
    'a certificate instead of a request',
    (draft) => {
      draft.spec.request = pem('CERTIFICATE', SEQUENCE)
    },
    expect.stringMatching(/^spec\.request: Invalid value: .*: PEM block type must be CERTIFICATE REQUEST$/) as never,
  ],
  [
    'no usages',
    (draft) => {
      draft.spec.usages = []
    },
    'spec.usages: Required value',
  ],
  [
    'a usage twice',
    (draft) => {
      draft.spec.usages = ['client auth', 'client auth']
    },
    'spec.usages[1]: Duplicate value: "client auth"',
  ],
  [
    'a signer without domain',
    (draft) => {
      draft.spec.signerName = 'me'
    },
    'spec.signerName: Invalid value: "me": must be a fully qualified domain and path of the form \'example.com/signer-name\'',
  ],
  [
    'the legacy signer',
    (draft) => {
      draft.spec.signerName = 'kubernetes.io/legacy-unknown'
    },
    'spec.signerName: Invalid value: "kubernetes.io/legacy-unknown": the legacy signerName is not allowed via this API version',
  ],
  [
    'for too short a time',
    (draft) => {
      draft.spec.expirationSeconds = 599
    },
    'spec.expirationSeconds: Invalid value: 599: may not specify a duration less than 600 seconds (10 minutes)',
  ],
])

describe('CertificateSigningRequest doors', () => {
  const through = (name: string, object: Request, old: Request) => {
    const door = certificateSigningRequestKind.subresources[name] as StatusSubresource<Request>
    const draft = structuredClone(object)
    door.prepareUpdate(draft, old)
    return { draft, errors: shownErrors(door.validateUpdate?.(draft, old) ?? []) }
  }

  it('clears who the client claims to be', () => {
    const draft = request()
    Object.assign(draft.spec, { username: 'root', groups: ['system:masters'], uid: '0', extra: {} })
    certificateSigningRequestKind.prepareCreate?.(draft)
    expect(draft).toEqual({ ...request(), status: {} })
  })

  it('approves through approval, without issuing', () => {
    const approved = withConditions('Approved')
    approved.status!.certificate = pem('CERTIFICATE', SEQUENCE)
    const { draft, errors } = through('approval', approved, request())
    expect(errors).toEqual([])
    expect(draft.status).toEqual({ conditions: [{ type: 'Approved', status: 'True' }] })
  })

  it.each([
    [
      'approval',
      ['Approved', 'Denied'],
      [],
      ['status.conditions: Invalid value: "Denied": Approved and Denied conditions are mutually exclusive'],
    ],
    ['approval', [], ['Denied'], ['status.conditions: Forbidden: updates may not remove a condition of type "Denied"']],
    ['status', ['Approved'], [], ['status.conditions: Forbidden: updates may not add a condition of type "Approved"']],
    ['status', ['Approved', 'Failed'], ['Approved'], []],
  ])('%s from %j to %j', (door, types, before, errors) => {
    expect(through(door, withConditions(...types), withConditions(...before)).errors).toEqual(errors)
  })

  it.each([
    [pem('CERTIFICATE', SEQUENCE), undefined, []],
    [
      pem('PRIVATE KEY', SEQUENCE),
      undefined,
      [
        'status.certificate: Invalid value: "<certificate data>": only CERTIFICATE PEM blocks are allowed, found "PRIVATE KEY"',
      ],
    ],
    [
      pem('CERTIFICATE', SEQUENCE),
      pem('CERTIFICATE', [...SEQUENCE]).replace('L', 'M'),
      ['status.certificate: Forbidden: updates may not modify existing certificate content'],
    ],
  ])('issues %s', (certificate, before, errors) => {
    const old = { ...request(), status: before ? { certificate: before } : {} }
    expect(through('status', { ...request(), status: { certificate } }, old).errors).toEqual(errors)
  })

  it.each([
    [[], '', 'Pending'],
    [['Approved'], 'x', 'Approved,Issued'],
    [['Denied', 'Failed'], '', 'Denied,Failed'],
  ])('prints %j %s as %s', (types, certificate, expected) => {
    const object = withConditions(...types)
    object.status!.certificate = certificate
    expect(cells(certificateSigningRequestKind, object, 0)).toMatchObject({
      Condition: expected,
      RequestedDuration: '<none>',
    })
  })
})
