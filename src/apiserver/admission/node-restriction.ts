import type { TokenRequest } from '../../api/generated/authentication-v1.ts'
import type { Node, PersistentVolumeClaim, Pod } from '../../api/generated/core-v1.ts'
import type { ResourceSlice } from '../../api/generated/resource-v1.ts'
import { forbiddenAccess } from '../../api/meta/api-error.ts'
import { ANNOTATION, NAMESPACE } from '../../api/meta/well-known.ts'
import { deepEqual } from '../../base/deep-equal.ts'
import { podReferences } from '../authorization/node/pod-references.ts'
import { nodeOf } from '../identity.ts'
import type { Lister } from './lister.ts'
import { forbiddenNodeLabels } from './node-labels.ts'
import type { AdmissionPlugin, AdmissionRequest } from './plugin.ts'

export interface NodeRestrictionReaders {
  /** By `namespace/name`. */
  readonly pods: Pick<Lister<Pod>, 'get'>
  readonly nodes: Pick<Lister<Node>, 'get'>
}

interface NodeWrite {
  readonly node: string
  readonly request: AdmissionRequest
  readonly readers: NodeRestrictionReaders
}

/** A kubelet writes its own node and what belongs to the pods bound to it; never what would give it more. */
export function nodeRestriction(readers: NodeRestrictionReaders): AdmissionPlugin {
  return {
    name: 'NodeRestriction',
    validate(request) {
      const node = nodeOf(request.user)
      if (node === undefined) return
      const { group, plural } = request.kind
      const check = CHECKS[group ? `${plural}.${group}` : plural]
      if (!check) return
      if (node === '') throw refuse(request, `could not determine node from user ${JSON.stringify(request.user.name)}`)
      return check({ node, request, readers })
    },
  }
}

const CHECKS: Readonly<Record<string, ((write: NodeWrite) => Promise<void> | void) | undefined>> = {
  pods: checkPod,
  nodes: checkNode,
  persistentvolumeclaims: checkClaim,
  serviceaccounts: checkToken,
  'leases.coordination.k8s.io': checkLease,
  'csinodes.storage.k8s.io': (write) =>
    checkOwnName(write, 'can only access CSINode with the same name as the requesting node'),
  'resourceslices.resource.k8s.io': checkSlice,
}

const refuse = ({ kind, name }: AdmissionRequest, message: string) =>
  forbiddenAccess({ group: kind.group, resource: kind.plural }, name, message)

const quoted = (text: string) => JSON.stringify(text)

function checkPod(write: NodeWrite): Promise<void> | void {
  const { request, node } = write
  const { operation, subresource } = request
  const old = request.old as Pod | undefined
  if (operation === 'DELETE') {
    // An eviction is a deletion, too.
    const what = subresource === 'eviction' ? 'evict' : 'delete'
    if (old?.spec?.nodeName !== node)
      throw refuse(request, `node ${quoted(node)} can only ${what} pods with spec.nodeName set to itself`)
    return
  }
  if (subresource === '' && operation === 'CREATE') return checkMirrorPod(write)
  if (subresource === 'status' && operation === 'UPDATE') return checkPodStatus(write)
  if (subresource === '')
    throw refuse(
      request,
      `unexpected operation ${quoted(operation)}, node ${quoted(node)} can only create and delete mirror pods`,
    )
  throw refuse(request, `unexpected pod subresource ${quoted(subresource)}, only 'status' and 'eviction' are allowed`)
}

function checkPodStatus({ request, node }: NodeWrite): void {
  const [pod, old] = [request.draft as Pod, request.old as Pod]
  if (old.spec?.nodeName !== node)
    throw refuse(request, `node ${quoted(node)} can only update pod status for pods with spec.nodeName set to itself`)
  if (!deepEqual(pod.metadata.labels ?? {}, old.metadata.labels ?? {}))
    throw refuse(request, `node ${quoted(node)} cannot update labels through pod status`)
  if (!deepEqual(pod.status?.resourceClaimStatuses ?? [], old.status?.resourceClaimStatuses ?? []))
    throw refuse(request, `node ${quoted(node)} cannot update resource claim statues`)
}

/** A mirror shows a pod that the node runs anyway; it must not open any other object to the node. */
async function checkMirrorPod({ request, node, readers }: NodeWrite): Promise<void> {
  const pod = request.draft as Pod
  const who = `node ${quoted(node)}`
  if (pod.metadata.annotations?.[ANNOTATION.mirrorPod] === undefined)
    throw refuse(
      request,
      `pod does not have ${quoted(ANNOTATION.mirrorPod)} annotation, ${who} can only create mirror pods`,
    )
  if (pod.spec?.nodeName !== node) throw refuse(request, `${who} can only create pods with spec.nodeName set to itself`)
  const [owner, ...others] = pod.metadata.ownerReferences ?? []
  if (others.length > 0)
    throw refuse(request, `${who} can only create pods with a single owner reference set to itself`)
  if (owner?.apiVersion !== 'v1' || owner.kind !== 'Node' || owner.name !== node)
    throw refuse(request, `${who} can only create pods with an owner reference set to itself`)
  if (owner.controller !== true)
    throw refuse(request, `${who} can only create pods with a controller owner reference set to itself`)
  if (owner.blockOwnerDeletion) throw refuse(request, `${who} must not set blockOwnerDeletion on an owner reference`)
  const known = await readers.nodes.get(node)
  if (known?.metadata.uid !== owner.uid)
    throw refuse(request, `node ${node} UID mismatch: expected ${owner.uid} got ${known?.metadata.uid}`)
  const referenced = referenceOf(pod)
  if (referenced) throw refuse(request, `${who} can not create pods that reference ${referenced}`)
}

/** The first resource that a mirror names and may not. */
function referenceOf(pod: Pod): string | undefined {
  const { annotations, ...metadata } = pod.metadata
  for (const reference of podReferences({ ...pod, metadata })) {
    const [resource] = reference.split(' ')
    if (resource !== 'pods') return resource
  }
  return undefined
}

function checkNode({ request, node }: NodeWrite): void {
  const [draft, old] = [request.draft as Node | undefined, request.old as Node | undefined]
  if (request.name !== node)
    throw refuse(request, `node ${quoted(node)} is not allowed to modify node ${quoted(request.name)}`)
  if (!draft) return
  const labels = forbiddenNodeLabels(draft.metadata.labels ?? {}, old?.metadata.labels ?? {})
  if (!old) {
    if (draft.spec?.configSource)
      throw refuse(request, `node ${quoted(node)} is not allowed to create pods with a non-nil configSource`)
    if (labels.length > 0)
      throw refuse(request, `node ${quoted(node)} is not allowed to set the following labels: ${labels.join(', ')}`)
    return
  }
  if (draft.spec?.configSource && !deepEqual(draft.spec.configSource, old.spec?.configSource))
    throw refuse(request, `node ${quoted(node)} is not allowed to update configSource to a new non-nil configSource`)
  if (!deepEqual(draft.spec?.taints ?? [], old.spec?.taints ?? []))
    throw refuse(request, `node ${quoted(node)} is not allowed to modify taints`)
  if (!deepEqual(draft.metadata.ownerReferences ?? [], old.metadata.ownerReferences ?? []))
    throw refuse(request, `node ${quoted(node)} is not allowed to modify ownerReferences`)
  if (labels.length > 0) throw refuse(request, `is not allowed to modify labels: ${labels.join(', ')}`)
}

/** What a node may tell of a claim: how large it has become. */
function checkClaim({ request, node }: NodeWrite): void {
  if (request.subresource !== 'status' || request.operation !== 'UPDATE')
    throw refuse(request, 'may only update PVC status')
  const rest = ({ status, metadata, ...claim }: PersistentVolumeClaim) => {
    const { capacity, conditions, allocatedResourceStatuses, allocatedResources, ...others } = status ?? {}
    const { managedFields, resourceVersion, ...meta } = metadata
    return { ...claim, metadata: meta, status: others }
  }
  if (!deepEqual(rest(request.draft as PersistentVolumeClaim), rest(request.old as PersistentVolumeClaim)))
    throw refuse(
      request,
      `node ${quoted(node)} is not allowed to update fields other than status.quantity and status.conditions`,
    )
}

/** A node gets tokens for the pods it runs, each bound to its pod. */
async function checkToken({ request, node, readers }: NodeWrite): Promise<void> {
  if (request.operation !== 'CREATE' || request.subresource !== 'token') return
  const ref = (request.draft as TokenRequest).spec?.boundObjectRef
  if (ref?.kind !== 'Pod' || !ref.name || (ref.apiVersion ?? 'v1') !== 'v1')
    throw refuse(request, 'node requested token not bound to a pod')
  if (!ref.uid) throw refuse(request, 'node requested token with a pod binding without a uid')
  const pod = await readers.pods.get(`${request.namespace}/${ref.name}`)
  if (!pod) throw refuse(request, `pod ${quoted(ref.name)} not found`)
  if (pod.metadata.uid !== ref.uid)
    throw refuse(
      request,
      `the UID in the bound object reference (${ref.uid}) does not match the UID in record. The object might have been deleted and then recreated`,
    )
  if (pod.spec?.nodeName !== node)
    throw refuse(request, 'node requested token bound to a pod scheduled on a different node')
}

function checkLease(write: NodeWrite): void {
  if (write.request.namespace !== NAMESPACE.nodeLease)
    throw refuse(write.request, 'can only access leases in the "kube-node-lease" system namespace')
  checkOwnName(write, 'can only access node lease with the same name as the requesting node')
}

function checkOwnName({ request, node }: NodeWrite, message: string): void {
  if (request.name !== node) throw refuse(request, message)
}

function checkSlice({ request, node }: NodeWrite): void {
  for (const slice of [request.draft, request.old] as (ResourceSlice | undefined)[])
    if (slice && slice.spec?.nodeName !== node)
      throw refuse(request, 'can only create or change ResourceSlices of the requesting node')
}
