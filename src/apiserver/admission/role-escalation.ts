import type { ClusterRole, PolicyRule, RoleBinding } from '../../api/generated/rbac-v1.ts'
import { forbiddenAccess, objectNotFound } from '../../api/meta/api-error.ts'
import { deepEqual } from '../../base/deep-equal.ts'
import { type Authorizer, MASTERS } from '../authorization/authorizer.ts'
import { describeGroups, describeRule, uncovered } from '../authorization/rbac/coverage.ts'
import type { RoleIndex } from '../authorization/rbac/role-index.ts'
import { rulesHeld } from '../authorization/rbac/rules-held.ts'
import type { AdmissionPlugin, AdmissionRequest } from './plugin.ts'

const RBAC_GROUP = 'rbac.authorization.k8s.io'

/** Who may choose which roles add up to a role must have every right there is. */
const EVERYTHING: readonly PolicyRule[] = [
  { verbs: ['*'], apiGroups: ['*'], resources: ['*'] },
  { verbs: ['*'], nonResourceURLs: ['*'] },
]

/** Refuses roles and bindings that grant more than the writer has, unless they may `escalate` or `bind`. */
export function roleEscalation(index: RoleIndex, authorizer: Authorizer): AdmissionPlugin {
  const context = { index, authorizer }
  return {
    name: 'RoleEscalation',
    validate(request) {
      if (request.kind.group !== RBAC_GROUP || request.operation === 'DELETE' || request.subresource !== '') return
      if (request.user.groups.includes(MASTERS)) return
      switch (request.kind.plural) {
        case 'roles':
        case 'clusterroles':
          return checkRole(context, request)
        case 'rolebindings':
        case 'clusterrolebindings':
          return checkBinding(context, request)
      }
    },
  }
}

interface EscalationContext {
  readonly index: RoleIndex
  readonly authorizer: Authorizer
}

async function checkRole(context: EscalationContext, request: AdmissionRequest): Promise<void> {
  const role = request.draft as ClusterRole
  const old = request.old as ClusterRole | undefined
  const isSame =
    old && deepEqual(role.rules ?? [], old.rules ?? []) && deepEqual(role.aggregationRule, old.aggregationRule)
  if (isSame || (await mayDo(context, request, 'escalate', request.kind.plural, request.name))) return
  if (role.aggregationRule || old?.aggregationRule) mustHoldEverything(context, request)
  else mustHold(context, request, role.rules ?? [])
}

function mustHoldEverything({ index }: EscalationContext, { user, kind, namespace, name }: AdmissionRequest): void {
  if (uncovered(rulesHeld(index, user, namespace), EVERYTHING).length === 0) return
  const message = 'must have cluster-admin privileges to use the aggregationRule'
  throw forbiddenAccess({ group: kind.group, resource: kind.plural }, name, message)
}

async function checkBinding(context: EscalationContext, request: AdmissionRequest): Promise<void> {
  const binding = request.draft as RoleBinding
  const old = request.old as RoleBinding | undefined
  const { roleRef } = binding
  if (old && deepEqual(roleRef, old.roleRef) && deepEqual(binding.subjects ?? [], old.subjects ?? [])) return
  const plural = roleRef.kind === 'Role' ? 'roles' : 'clusterroles'
  if (await mayDo(context, request, 'bind', plural, roleRef.name)) return
  const rules = context.index.rulesOf(roleRef.kind === 'Role' ? request.namespace : '', roleRef.name)
  if (!rules) throw objectNotFound({ group: RBAC_GROUP, resource: plural }, roleRef.name)
  mustHold(
    context,
    request,
    rules.map(({ rule }) => rule),
  )
}

async function mayDo(
  { authorizer }: EscalationContext,
  { user, namespace }: AdmissionRequest,
  verb: string,
  resource: string,
  name: string,
): Promise<boolean> {
  const access = { group: RBAC_GROUP, version: 'v1', resource, namespace, name, subresource: '' }
  return (await authorizer.decide(user, { verb, resource: access })).allowed
}

function mustHold({ index }: EscalationContext, request: AdmissionRequest, wanted: readonly PolicyRule[]): void {
  const { user, kind, namespace, name } = request
  const missing = uncovered(rulesHeld(index, user, namespace), wanted)
  if (missing.length === 0) return
  const who = `user ${JSON.stringify(user.name)} (groups=${describeGroups(user.groups)})`
  const what = missing.map(describeRule).join('\n')
  const message = `${who} is attempting to grant RBAC permissions not currently held:\n${what}`
  throw forbiddenAccess({ group: kind.group, resource: kind.plural }, name, message)
}
