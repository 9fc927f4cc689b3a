import type { PolicyRule } from '../../../api/generated/rbac-v1.ts'
import type { UserInfo } from '../../identity.ts'
import { type RoleIndex, subjectsOf } from './role-index.ts'

/** Every rule that holds for a user in a namespace. */
export function rulesHeld(index: RoleIndex, user: UserInfo, namespace: string): PolicyRule[] {
  const held: PolicyRule[] = []
  index.visit(subjectsOf(user), namespace, ({ rule }) => held.push(rule) > 0)
  return held
}
