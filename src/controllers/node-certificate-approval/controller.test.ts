import { generateKeyPairSync } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { certificateSigningRequestKind } from '../../api/kinds/certificates/certificate-signing-request.ts'
import { nodeKind } from '../../api/kinds/core/node/kind.ts'
import { createClient } from '../../client/client.ts'
import { type ControlPlane, startControlPlane } from '../../testing/control-plane.ts'
import { createCertificateSigningRequest, type RequestedSubject } from '../../x509/certificate-signing-request.ts'
import { nodeCertificateApprovalController } from './controller.ts'

const NODES = ['system:nodes', 'system:authenticated']
const KEY = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({
  type: 'pkcs8',
  format: 'pem',
}) as string
const SERVING = { signer: 'kubelet-serving', usages: ['digital signature', 'server auth'] }
const CLIENT = { signer: 'kube-apiserver-client', usages: ['digital signature', 'client auth'] }
const own: RequestedSubject = { commonName: 'system:node:n1', organizations: ['system:nodes'] }

let plane: ControlPlane
let made = 0
beforeAll(async () => {
  plane = await startControlPlane({ controllers: [nodeCertificateApprovalController] })
  for (const [name, ...addresses] of [
    ['n1', '10.0.0.1', '10.0.0.9', '10.96.0.7', '127.0.0.1'],
    ['n2', '10.0.0.2', '10.0.0.9'],
  ])
    await plane.client.resource(nodeKind).create({
      metadata: { name: name! },
      status: { addresses: addresses.map((address) => ({ type: 'InternalIP', address })) },
    })
  await plane.settled()
})
afterAll(() => plane[Symbol.asyncDispose]())

async function ask(subject: RequestedSubject, { signer, usages } = SERVING, user = 'system:node:n1', groups = NODES) {
  const name = `r${++made}`
  const requester = createClient(plane.server.transport({ name: user, groups }))
  await requester.resource(certificateSigningRequestKind).create({
    metadata: { name },
    spec: {
      request: Buffer.from(createCertificateSigningRequest(KEY, subject)).toString('base64'),
      signerName: `kubernetes.io/${signer}`,
      usages,
    },
  })
  await plane.settled()
  const { status } = await plane.client.resource(certificateSigningRequestKind).get(name)
  return status?.conditions?.map(({ type, reason }) => `${type} ${reason}`).join() ?? 'undecided'
}

const APPROVED = 'Approved AutoApproved'

describe('the certificate a kubelet serves with', () => {
  it.each([
    ['its name and address', ['n1', '10.0.0.1'], APPROVED],
    ['another name', ['n2', '10.0.0.1'], 'undecided'],
    ['the API server', ['kubernetes.default.svc'], 'undecided'],
    ['an address of nobody', ['10.0.0.3'], 'undecided'],
    ['an address of another node', ['10.0.0.2'], 'undecided'],
    ['an address that another node has too', ['10.0.0.9'], 'undecided'],
    ['an address of Services', ['10.96.0.7'], 'undecided'],
    ['loopback', ['127.0.0.1'], 'undecided'],
    ['no name', [], 'undecided'],
  ])('%s', async (_, subjectAltNames, expected) => {
    expect(await ask({ ...own, subjectAltNames })).toBe(expected)
  })

  it('is not given to another node, nor for another use', async () => {
    const subject = { ...own, subjectAltNames: ['n1', '10.0.0.1'] }
    expect(await ask(subject, SERVING, 'system:node:n2')).toBe('undecided')
    expect(await ask(subject, { ...SERVING, usages: CLIENT.usages })).toBe('undecided')
  })
})

describe('the certificate of another part of a node', () => {
  it.each([
    ['the service proxy', { commonName: 'system:kube-proxy' }, APPROVED],
    ['the DNS server', { commonName: 'system:coredns' }, APPROVED],
    ['somebody else', { commonName: 'system:kube-scheduler' }, 'undecided'],
    ['with a group', { commonName: 'system:kube-proxy', organizations: ['system:nodes'] }, 'undecided'],
    ['with a name', { commonName: 'system:kube-proxy', subjectAltNames: ['kubernetes'] }, 'undecided'],
  ])('%s', async (_, subject, expected) => expect(await ask(subject, CLIENT)).toBe(expected))

  it('is given to nodes only', async () => {
    const groups = ['system:bootstrappers', 'system:authenticated']
    expect(await ask({ commonName: 'system:kube-proxy' }, CLIENT, 'system:bootstrap:abcdef', groups)).toBe('undecided')
    const impostor = ['system:masters']
    expect(await ask({ commonName: 'system:kube-proxy' }, CLIENT, 'jane', impostor)).toBe('undecided')
  })
})
