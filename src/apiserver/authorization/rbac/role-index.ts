import type { ClusterRoleBinding, PolicyRule, RoleBinding, Subject } from '../../../api/generated/rbac-v1.ts'
import type { KubernetesObject } from '../../../api/meta/object.ts'
import { getOrCreate } from '../../../base/get-or-create.ts'
import { once } from '../../../base/once.ts'
import { serviceAccountUser, type UserInfo } from '../../identity.ts'
import { type CompiledRule, compileRule } from './rule.ts'

/** A role given to subjects, each by its key. */
export interface Grant {
  /** Of the binding: `namespace/name`. */
  readonly key: string
  readonly roleKind: string
  readonly roleName: string
  readonly namespace: string
  readonly subjects: ReadonlyMap<string, Subject>
}

type Grants = Map<string, Map<string, Grant>>

const userKey = (name: string) => `u:${name}`
const groupKey = (name: string) => `g:${name}`
/** Cluster-scoped bindings and roles stand under the empty namespace. */
const CLUSTER = ''

/**
 * Who was given which rules, kept in step with the objects one change at a time. Roles and bindings are named by
 * `namespace/name`, cluster-scoped ones by `/name`.
 */
export class RoleIndex {
  /** Compiled when first asked: most roles are those of controllers that may never have anything to do. */
  readonly #roles = new Map<string, () => readonly CompiledRule[]>()
  readonly #grants = new Map<string, Grant>()
  /** By namespace, then by subject, then by binding. */
  readonly #bySubject = new Map<string, Grants>()
  /** Grows with every change: what was concluded before it has to be concluded again. */
  generation = 0

  setRole(namespace: string, name: string, rules: readonly PolicyRule[] | undefined): void {
    this.generation++
    if (rules)
      this.#roles.set(
        `${namespace}/${name}`,
        once(() => rules.map(compileRule)),
      )
    else this.#roles.delete(`${namespace}/${name}`)
  }

  rulesOf(namespace: string, name: string): readonly CompiledRule[] | undefined {
    return this.#roles.get(`${namespace}/${name}`)?.()
  }

  setBinding(namespace: string, name: string, binding: KubernetesObject | undefined): void {
    this.generation++
    const key = `${namespace}/${name}`
    const old = this.#grants.get(key)
    if (old) this.#forget(old)
    if (!binding) return
    const grant = grantOf(key, namespace, binding as RoleBinding | ClusterRoleBinding)
    this.#grants.set(key, grant)
    const inNamespace = getOrCreate(this.#bySubject, namespace, () => new Map() as Grants)
    for (const subject of grant.subjects.keys())
      getOrCreate(inNamespace, subject, () => new Map<string, Grant>()).set(key, grant)
  }

  #forget(grant: Grant): void {
    this.#grants.delete(grant.key)
    const inNamespace = this.#bySubject.get(grant.namespace)
    for (const subject of grant.subjects.keys()) {
      const grants = inNamespace?.get(subject)
      grants?.delete(grant.key)
      if (grants?.size === 0) inNamespace!.delete(subject)
    }
    if (inNamespace?.size === 0) this.#bySubject.delete(grant.namespace)
  }

  /**
   * Visits every rule that holds for the subjects in a namespace (those of the whole cluster first) until the visitor
   * returns false. Roles that are bound but do not exist are told to `onMissing`.
   */
  visit(
    subjects: readonly string[],
    namespace: string,
    visitor: (rule: CompiledRule, grant: Grant, subject: string) => boolean,
    onMissing?: (grant: Grant) => void,
  ): void {
    if (!this.#visitScope(CLUSTER, subjects, visitor, onMissing) || namespace === CLUSTER) return
    this.#visitScope(namespace, subjects, visitor, onMissing)
  }

  #visitScope(
    scope: string,
    subjects: readonly string[],
    visitor: (rule: CompiledRule, grant: Grant, subject: string) => boolean,
    onMissing?: (grant: Grant) => void,
  ): boolean {
    const bySubject = this.#bySubject.get(scope)
    if (!bySubject) return true
    for (const subject of subjects) {
      const grants = bySubject.get(subject)
      if (!grants) continue
      for (const grant of grants.values()) {
        const rules = this.rulesOf(grant.roleKind === 'Role' ? grant.namespace : CLUSTER, grant.roleName)
        if (!rules) onMissing?.(grant)
        else for (const rule of rules) if (!visitor(rule, grant, subject)) return false
      }
    }
    return true
  }
}

export const subjectsOf = (user: UserInfo): readonly string[] => [userKey(user.name), ...user.groups.map(groupKey)]

/** Why somebody is allowed, as `kubectl auth can-i -v` users know it. */
export function grantReason({ key, namespace, roleKind, roleName, subjects }: Grant, subject: string): string {
  const name = key.slice(namespace.length + 1)
  const binding = namespace
    ? `RoleBinding ${JSON.stringify(`${name}/${namespace}`)}`
    : `ClusterRoleBinding ${JSON.stringify(name)}`
  const who = describe(subjects.get(subject)!, namespace)
  return `RBAC: allowed by ${binding} of ${roleKind} ${JSON.stringify(roleName)} to ${who}`
}

function grantOf(key: string, namespace: string, binding: RoleBinding | ClusterRoleBinding): Grant {
  const subjects = new Map<string, Subject>()
  for (const subject of binding.subjects ?? []) {
    const found = subjectKey(subject, namespace)
    if (found) subjects.set(found, subject)
  }
  return { key, namespace, roleKind: binding.roleRef.kind, roleName: binding.roleRef.name, subjects }
}

function subjectKey(subject: Subject, namespace: string): string | undefined {
  if (subject.kind === 'User') return userKey(subject.name)
  if (subject.kind === 'Group') return groupKey(subject.name)
  const of = subject.namespace || namespace
  return subject.kind === 'ServiceAccount' && of ? userKey(serviceAccountUser(of, subject.name)) : undefined
}

function describe(subject: Subject, namespace: string): string {
  if (subject.kind !== 'ServiceAccount') return `${subject.kind} ${JSON.stringify(subject.name)}`
  return `ServiceAccount ${JSON.stringify(`${subject.name}/${subject.namespace || namespace}`)}`
}
