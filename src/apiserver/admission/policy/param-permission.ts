import type { ParamKind, ParamRef } from '../../../api/generated/admissionregistration-v1.ts'
import type { Kind } from '../../../api/kind.ts'
import { type FieldError, forbidden } from '../../../api/meta/field-error.ts'
import { FieldPath } from '../../../api/meta/field-path.ts'
import { type KubernetesObject, parseApiVersion } from '../../../api/meta/object.ts'
import { deepEqual } from '../../../base/deep-equal.ts'
import type { Authorizer } from '../../authorization/authorizer.ts'
import type { UserInfo } from '../../identity.ts'
import type { KindTable } from '../../kind-table.ts'
import type { Lister } from '../lister.ts'
import type { AdmissionRequest } from '../plugin.ts'

/** A policy tells others what is in its parameters: whoever writes one must be able to read them. */
export interface ParamPermissionContext {
  readonly kinds: KindTable
  readonly authorizer: Authorizer
  /** To find out what the parameters of a binding are. */
  readonly policies: { readonly validating: Lister<PolicyObject>; readonly mutating: Lister<PolicyObject> }
}

type PolicyObject = KubernetesObject & { spec?: { paramKind?: ParamKind } }
type BindingObject = KubernetesObject & { spec?: { policyName?: string; paramRef?: ParamRef } }

const SPEC = FieldPath.root('spec')
const ALL = '*'

export async function paramProblems(context: ParamPermissionContext, request: AdmissionRequest): Promise<FieldError[]> {
  return request.kind.plural.endsWith('bindings') ? ofBinding(context, request) : ofPolicy(context, request)
}

async function ofPolicy(context: ParamPermissionContext, { user, draft, old }: AdmissionRequest) {
  const paramKind = (draft as PolicyObject).spec?.paramKind
  if (!paramKind || deepEqual(paramKind, (old as PolicyObject | undefined)?.spec?.paramKind)) return []
  if (await mayRead(context, user, paramKind, ALL, ALL)) return []
  const why = `user ${user.name} must have "get" permission on all objects of the referenced paramKind (kind=${paramKind.kind}, apiVersion=${paramKind.apiVersion})`
  return [forbidden(SPEC.child('paramKind'), why)]
}

async function ofBinding(context: ParamPermissionContext, { kind, user, draft, old }: AdmissionRequest) {
  const { paramRef, policyName = '' } = (draft as BindingObject).spec ?? {}
  if (!paramRef || deepEqual(paramRef, (old as BindingObject | undefined)?.spec?.paramRef)) return []
  const { validating, mutating } = context.policies
  const policy = await (kind.plural.startsWith('mutating') ? mutating : validating).get(policyName)
  const paramKind = policy?.spec?.paramKind
  // What is not known yet may turn out to be anything.
  if (await mayRead(context, user, paramKind, paramRef.namespace || ALL, paramRef.name || ALL)) return []
  const why = `user ${user.name} must have "get" permission on the objects that paramRef refers to`
  return [forbidden(SPEC.child('paramRef'), why)]
}

async function mayRead(
  { kinds, authorizer }: ParamPermissionContext,
  user: UserInfo,
  paramKind: ParamKind | undefined,
  namespace: string,
  name: string,
): Promise<boolean> {
  const { group, version } = parseApiVersion(paramKind?.apiVersion ?? '')
  const kind: Kind | undefined = paramKind && kinds.byKind(group, version, paramKind.kind ?? '')
  const what = kind
    ? { group: kind.group, version, resource: kind.plural }
    : { group: paramKind ? group : ALL, resource: ALL }
  const place = kind && !kind.namespaced ? '' : namespace
  const resource = { ...what, namespace: place === ALL ? '' : place, name: name === ALL ? '' : name, subresource: '' }
  return (await authorizer.decide(user, { verb: 'get', resource })).allowed
}
