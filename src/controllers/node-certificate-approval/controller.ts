import type { CertificateSigningRequest } from '../../api/generated/certificates-v1.ts'
import type { Node } from '../../api/generated/core-v1.ts'
import { certificateSigningRequestKind } from '../../api/kinds/certificates/certificate-signing-request.ts'
import { nodeKind } from '../../api/kinds/core/node/kind.ts'
import { endpointSliceKind } from '../../api/kinds/discovery/endpoint-slice.ts'
import { serviceCIDRKind } from '../../api/kinds/networking/service-cidr.ts'
import { LABEL } from '../../api/meta/well-known.ts'
import { deepEqual } from '../../base/deep-equal.ts'
import { approve, isAllowed, isUndecided, REFUSED_PAUSE } from '../certificate-approval/review.ts'
import { type CertificateRequest, parseCertificateRequest } from '../certificate-signing/certificate-request.ts'
import {
  CLIENT_SIGNER,
  checkClientUsages,
  checkKubeletServing,
  KUBELET_SERVING_SIGNER,
} from '../certificate-signing/signers.ts'
import { type Controller, type ControllerContext, ownKey, watch } from '../controller.ts'
import { namesProblem } from './serving-names.ts'

/** The users that the service proxy and the DNS server of every node are. */
const NODE_PARTS: readonly string[] = ['system:kube-proxy', 'system:coredns']
const NODE_USER = 'system:node:'

/**
 * Approves what a node that joined needs besides the client certificate of its kubelet: the certificate that the kubelet
 * serves with, and those of the other parts of a node. Kubernetes itself leaves both to the people who run a cluster.
 */
export function nodeCertificateApprovalController({ client, clock, informers }: ControllerContext): Controller {
  const requests = informers.informer(certificateSigningRequestKind)
  const nodes = informers.informer(nodeKind)
  const slices = informers.informer(endpointSliceKind)
  const serviceCidrs = informers.informer(serviceCIDRKind)

  function apiServers(): string[] {
    const own = slices.list().filter(({ metadata }) => {
      const { namespace, labels } = metadata
      return namespace === 'default' && labels?.[LABEL.serviceName] === 'kubernetes'
    })
    return own.flatMap(({ endpoints }) => endpoints?.flatMap(({ addresses }) => addresses) ?? [])
  }

  /** A Node may become known after the request that its addresses decide on. */
  const waitingOf = ({ metadata }: Node) =>
    requests
      .list()
      .filter((csr) => csr.spec.username === NODE_USER + metadata.name && isConcerned(csr))
      .flatMap((csr) => ownKey(csr, undefined))

  function isOwnServing(csr: CertificateSigningRequest, request: CertificateRequest): boolean {
    if (checkKubeletServing(request, new Set(csr.spec.usages)) !== undefined) return false
    const surroundings = {
      nodeName: request.commonName.slice(NODE_USER.length),
      nodes: nodes.list(),
      apiServers: apiServers(),
      serviceCidrs: serviceCidrs.list().flatMap(({ spec }) => spec?.cidrs ?? []),
    }
    return csr.spec.username === request.commonName && namesProblem(request, surroundings) === undefined
  }

  return {
    name: 'node-certificate-approving-controller',
    watches: [
      watch(requests, (old, current) => (current && isConcerned(current) ? ownKey(old, current) : [])),
      watch(nodes, (old, current) =>
        deepEqual(old?.status?.addresses, current?.status?.addresses) ? [] : waitingOf((current ?? old)!),
      ),
      watch(slices, () => []),
      watch(serviceCidrs, () => []),
    ],
    async reconcile(name) {
      const csr = requests.get(name)
      if (!csr || !isConcerned(csr)) return
      const request = parseCertificateRequest(csr.spec.request)
      const isServing = csr.spec.signerName === KUBELET_SERVING_SIGNER
      if (!isServing && !isPart(csr, request)) return
      const isRight = isServing ? isOwnServing(csr, request) : true
      if (!isRight || !(await isAllowed(client, csr, isServing ? 'selfnodeserver' : 'nodeparts')))
        return { retryAfter: REFUSED_PAUSE }
      const what = isServing ? 'self kubelet server' : 'node part client'
      await approve(client, csr, `Auto approving ${what} certificate after SubjectAccessReview.`, clock.now())
    },
  }
}

const isConcerned = (csr: CertificateSigningRequest) =>
  (csr.spec.signerName === KUBELET_SERVING_SIGNER || csr.spec.signerName === CLIENT_SIGNER) &&
  csr.spec.username?.startsWith(NODE_USER) === true &&
  isUndecided(csr)

/** A plain user without groups, by a name that every node's parts have. */
function isPart({ spec }: CertificateSigningRequest, request: CertificateRequest): boolean {
  const { commonName, organizations, dnsNames, ipAddresses, emailAddresses, uris } = request
  const extras = [organizations, dnsNames, ipAddresses, emailAddresses, uris]
  return (
    NODE_PARTS.includes(commonName) &&
    extras.every((list) => list.length === 0) &&
    checkClientUsages(new Set(spec.usages)) === undefined
  )
}
