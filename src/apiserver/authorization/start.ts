import type { ClusterRole } from '../../api/generated/rbac-v1.ts'
import { type FollowContext, type Follower, follow } from '../watch-cache/follow.ts'
import { type Authorizer, inOrder, masters } from './authorizer.ts'
import { nodeAuthorizer } from './node/node-authorizer.ts'
import { NodeGraph } from './node/node-graph.ts'
import { RbacAuthorizer } from './rbac/rbac-authorizer.ts'
import { RoleIndex } from './rbac/role-index.ts'
import { type AuthorizationWebhook, webhookAuthorizer } from './webhook-authorizer.ts'

export interface AuthorizationOptions {
  /** Asked after the roles of the cluster; none by default. */
  readonly webhook?: AuthorizationWebhook
}

export interface Authorization {
  readonly authorizer: Authorizer
  readonly index: RoleIndex
}

const GROUP = 'rbac.authorization.k8s.io'

/** Who may do what: the rules in the order in which they are asked. What none of them allows is forbidden. */
export async function startAuthorization(
  context: FollowContext,
  options: AuthorizationOptions,
): Promise<Authorization> {
  const index = new RoleIndex()
  const setRole: Follower = (namespace, name, object) =>
    index.setRole(namespace, name, object && ((object as ClusterRole).rules ?? []))
  const setBinding: Follower = (namespace, name, object) => index.setBinding(namespace, name, object)
  await Promise.all([
    follow(context, { group: GROUP, plural: 'clusterroles' }, setRole),
    follow(context, { group: GROUP, plural: 'roles' }, setRole),
    follow(context, { group: GROUP, plural: 'clusterrolebindings' }, setBinding),
    follow(context, { group: GROUP, plural: 'rolebindings' }, setBinding),
  ])
  const authorizer = inOrder([
    masters,
    nodeAuthorizer(new NodeGraph(context)),
    new RbacAuthorizer(index),
    ...(options.webhook ? [webhookAuthorizer(options.webhook, context.clock)] : []),
  ])
  return { authorizer, index }
}
