import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { certificateSigningRequestKind } from '../../api/kinds/certificates/certificate-signing-request.ts'
import { createClient } from '../../client/client.ts'
import { type ControlPlane, startControlPlane } from '../../testing/control-plane.ts'
import { janeRequest, kubeletRequest } from '../certificate-signing/requests.fixture.ts'
import { certificateApprovalController } from './controller.ts'

let plane: ControlPlane
beforeEach(async () => {
  plane = await startControlPlane({ controllers: [certificateApprovalController] })
})
afterEach(() => plane[Symbol.asyncDispose]())

const USAGES = ['digital signature', 'client auth']
async function ask(pem: string, usages = USAGES, name = 'system:admin') {
  const requester = createClient(plane.server.transport({ name, groups: ['system:masters'] }))
  await requester.resource(certificateSigningRequestKind).create({
    metadata: { name: 'r' },
    spec: {
      request: Buffer.from(pem).toString('base64'),
      signerName: 'kubernetes.io/kube-apiserver-client-kubelet',
      usages,
    },
  })
  await plane.settled()
  const { status } = await plane.client.resource(certificateSigningRequestKind).get('r')
  return status?.conditions?.map(({ type, reason, message }) => ({ type, reason, message }))
}

describe('certificateApprovalController', () => {
  it.each([
    ['system:admin', 'Auto approving kubelet client certificate after SubjectAccessReview.'],
    ['system:node:n1', 'Auto approving self kubelet client certificate after SubjectAccessReview.'],
  ])('approves a kubelet asked for by %s', async (name, message) => {
    const approved = [{ type: 'Approved', reason: 'AutoApproved', message }]
    expect(await ask(kubeletRequest, USAGES, name)).toEqual(approved)
  })

  it.each([
    ['another subject', janeRequest, USAGES],
    ['another use', kubeletRequest, ['digital signature', 'server auth']],
  ])('leaves alone: %s', async (_, pem, usages) => expect(await ask(pem, usages)).toBeUndefined())
})
