import { parseFieldSelector, requiredFieldValue } from '../../../api/meta/field-selector.ts'
import { NAMESPACE } from '../../../api/meta/well-known.ts'
import { nodeOf } from '../../identity.ts'
import {
  type AccessAttributes,
  type AccessDecision,
  type Authorizer,
  NO_OPINION,
  type ResourceAccess,
} from '../authorizer.ts'
import { NODE_RULES } from '../policy/component-roles.ts'
import { nameOf } from '../rbac/rbac-authorizer.ts'
import { type CompiledRule, compileRule, coversPath, coversResource } from '../rbac/rule.ts'
import type { NodeGraph } from './node-graph.ts'

type Decision = AccessDecision | Promise<AccessDecision>

interface NodeRequest {
  readonly node: string
  readonly graph: NodeGraph
  readonly verb: string
  readonly resource: ResourceAccess
  /** Also of a list or watch that is limited to one name. */
  readonly name: string
  readonly attributes: AccessAttributes
}

const ALLOWED: AccessDecision = { allowed: true, reason: '' }
const refused = (reason: string): AccessDecision => ({ allowed: false, reason })

/**
 * What a kubelet may do: of objects that belong to nodes or pods, only those of its own node and of the pods bound to
 * it. What it may write of them is narrowed further by the admission plugin NodeRestriction.
 */
export function nodeAuthorizer(graph: NodeGraph): Authorizer {
  let rules: readonly CompiledRule[] | undefined
  return {
    decide(user, attributes) {
      const node = nodeOf(user)
      if (node === undefined) return NO_OPINION
      if (node === '') return refused(`unknown node for user ${JSON.stringify(user.name)}`)
      const { verb, resource } = attributes
      const special =
        resource && SUBDIVIDED[resource.group ? `${resource.resource}.${resource.group}` : resource.resource]
      if (special) return special({ node, graph, verb, resource, name: nameOf(resource, attributes), attributes })
      rules ??= NODE_RULES.map(compileRule)
      return rules.some((rule) => allows(rule, attributes)) ? ALLOWED : NO_OPINION
    },
  }
}

function allows(rule: CompiledRule, { verb, resource, path = '' }: AccessAttributes): boolean {
  if (!resource) return coversPath(rule, verb, path)
  const { group, subresource } = resource
  const full = subresource ? `${resource.resource}/${subresource}` : resource.resource
  return rule.names.size === 0 && coversResource(rule, verb, group, full, subresource)
}

/** Resources of which a node may see or write a part only. */
const SUBDIVIDED: Readonly<Record<string, ((request: NodeRequest) => Decision) | undefined>> = {
  secrets: readNeeded,
  configmaps: readNeeded,
  persistentvolumeclaims: (request) =>
    request.resource.subresource === 'status' ? updateNeededStatus(request) : getNeeded(request),
  persistentvolumes: getNeeded,
  'resourceclaims.resource.k8s.io': getNeeded,
  'volumeattachments.storage.k8s.io': getOwn,
  serviceaccounts: serviceAccount,
  'leases.coordination.k8s.io': lease,
  'csinodes.storage.k8s.io': csiNode,
  'resourceslices.resource.k8s.io': resourceSlice,
  nodes: nodeObject,
  pods: pod,
}

const READ = ['get', 'list', 'watch']
const OWN_OBJECT = ['get', 'create', 'update', 'patch', 'delete']

function readNeeded(request: NodeRequest): Decision {
  const { verb, resource } = request
  if (!READ.includes(verb)) return refused('can only read resources of this type')
  if (resource.subresource !== '') return refused('cannot read subresource')
  if (resource.namespace === '') return refused('can only read namespaced object of this type')
  return needed(request)
}

function getNeeded(request: NodeRequest): Decision {
  if (request.verb !== 'get') return refused('can only get individual resources of this type')
  if (request.resource.subresource !== '') return refused('cannot get subresource')
  return needed(request)
}

function updateNeededStatus(request: NodeRequest): Decision {
  if (request.verb !== 'update' && request.verb !== 'patch') return refused('can only get/update/patch this type')
  return needed(request)
}

async function needed({ graph, node, resource, name }: NodeRequest): Promise<AccessDecision> {
  if (name === '') return refused('No Object name found')
  const isNeeded = await graph.isNeeded(node, resource.resource, resource.namespace, name)
  return isNeeded ? ALLOWED : unrelated(node)
}

const unrelated = (node: string) => refused(`no relationship found between node '${node}' and this object`)

async function getOwn(request: NodeRequest): Promise<AccessDecision> {
  const { verb, resource, name } = request
  if (verb !== 'get') return refused('can only get individual resources of this type')
  if (resource.subresource !== '') return refused('cannot get subresource')
  return name === '' ? refused('No Object name found') : own(request)
}

/** The object itself says which node it belongs to. */
async function own({ graph, node, resource, name }: NodeRequest): Promise<AccessDecision> {
  const of = await graph.nodeNameOf(resource.group, resource.resource, name)
  return of === node ? ALLOWED : unrelated(node)
}

function serviceAccount(request: NodeRequest): Decision {
  const { verb, resource, name } = request
  if (verb === 'get' && resource.subresource === '') return readNeeded(request)
  if (verb !== 'create' || name === '') return refused('can only create tokens for individual service accounts')
  if (resource.subresource !== 'token') return refused('can only create token subresource of serviceaccount')
  return needed(request)
}

function lease({ verb, resource, name, node }: NodeRequest): Decision {
  if (!OWN_OBJECT.includes(verb)) return refused('can only get, create, update, patch, or delete a node lease')
  if (resource.namespace !== NAMESPACE.nodeLease)
    return refused('can only access leases in the "kube-node-lease" system namespace')
  // The name of what is created is in the body: NodeRestriction looks at it.
  if (verb !== 'create' && name !== node)
    return refused('can only access node lease with the same name as the requesting node')
  return ALLOWED
}

function csiNode({ verb, resource, name, node }: NodeRequest): Decision {
  if (resource.subresource !== '') return refused('cannot authorize CSINode subresources')
  if (!OWN_OBJECT.includes(verb)) return refused('can only get, create, update, patch, or delete a CSINode')
  if (verb !== 'create' && name !== node)
    return refused('can only access CSINode with the same name as the requesting node')
  return ALLOWED
}

function resourceSlice(request: NodeRequest): Decision {
  const { verb, resource } = request
  if (resource.subresource !== '') return refused('cannot authorize ResourceSlice subresources')
  if (verb === 'create') return ALLOWED
  if (verb === 'list' || verb === 'watch' || verb === 'deletecollection') {
    if (selects(request, 'spec.nodeName')) return ALLOWED
    return refused('can only list/watch/deletecollection resourceslices with nodeName field selector')
  }
  return own(request)
}

function nodeObject({ verb, resource, name, node }: NodeRequest): Decision {
  const isWrite = verb === 'update' || verb === 'patch'
  if (resource.subresource === 'status') return isWrite ? ALLOWED : NO_OPINION
  if (resource.subresource !== '') return NO_OPINION
  if (isWrite || verb === 'create') return ALLOWED
  if (!READ.includes(verb)) return NO_OPINION
  if (name === node) return ALLOWED
  if (name === '') return refused(`node '${node}' cannot read all nodes, only its own Node object`)
  return refused(`node '${node}' cannot read '${name}', only its own Node object`)
}

function pod(request: NodeRequest): Decision {
  const { verb, resource, name } = request
  switch (resource.subresource) {
    case '':
      if (verb === 'create' || verb === 'delete') return ALLOWED
      if (verb === 'get') return needed(request)
      if (verb !== 'list' && verb !== 'watch') return NO_OPINION
      if (selects(request, 'spec.nodeName')) return ALLOWED
      return name === '' ? refused('can only list/watch pods with spec.nodeName field selector') : needed(request)
    case 'status':
      return verb === 'update' || verb === 'patch' ? ALLOWED : NO_OPINION
    case 'eviction':
      return verb === 'create' ? ALLOWED : NO_OPINION
    default:
      return NO_OPINION
  }
}

/** Whether only objects are asked for whose field names the node. */
function selects({ attributes, node }: NodeRequest, field: string): boolean {
  const text = attributes.selectors?.get('fieldSelector') ?? ''
  if (!text.includes(field)) return false
  try {
    return requiredFieldValue(parseFieldSelector(text), field) === node
  } catch {
    return false
  }
}
