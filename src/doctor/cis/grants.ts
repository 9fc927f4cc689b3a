/** Who was given which rights, besides what every cluster starts with. */

import type { PolicyRule, Subject } from '../../api/generated/rbac-v1.ts'
import { LABEL } from '../../api/meta/well-known.ts'
import { passIf } from '../control.ts'
import type { CisFacts, ObjectFacts } from '../facts.ts'
import { some } from './rows.ts'

type RoleObject = ObjectFacts['roles'][number]
type BindingObject = ObjectFacts['bindings'][number]

const DEFAULTS_LABEL = LABEL.bootstrapping

/** Made by the server itself at its start. */
const isDefault = ({ metadata }: RoleObject | BindingObject) => metadata.labels?.[DEFAULTS_LABEL] !== undefined

const roleName = ({ metadata }: RoleObject) =>
  metadata.namespace ? `${metadata.namespace}/${metadata.name}` : metadata.name!

const subjectName = ({ kind, namespace, name }: Subject) => `${kind} ${namespace ? `${namespace}/` : ''}${name}`

export interface Right {
  readonly verbs: readonly string[]
  readonly group: string
  readonly resources: readonly string[]
}

const has = (list: readonly string[] | undefined, wanted: readonly string[]) =>
  list?.some((one) => one === '*' || wanted.includes(one)) ?? false

const gives = ({ verbs, apiGroups, resources, resourceNames }: PolicyRule, right: Right) =>
  // Names of objects narrow a right down far enough.
  (resourceNames ?? []).length === 0 &&
  has(verbs, right.verbs) &&
  has(apiGroups, [right.group]) &&
  has(resources, right.resources)

/** Bindings, as `Subject via role`, that give the right to somebody by choice. */
export function givenTo({ roles, bindings }: ObjectFacts, right: Right): string[] {
  const giving = new Set(roles.filter(({ rules }) => rules?.some((rule) => gives(rule, right))).map(roleName))
  return bindings.filter((binding) => !isDefault(binding) && giving.has(roleOf(binding))).flatMap(textsOf)
}

const roleOf = ({ metadata, roleRef }: BindingObject) =>
  roleRef.kind === 'Role' ? `${metadata.namespace}/${roleRef.name}` : roleRef.name

const textsOf = (binding: BindingObject) =>
  (binding.subjects ?? []).map((subject) => `${subjectName(subject)} by ${binding.metadata.name}`)

export const bindingsTo = ({ bindings }: ObjectFacts, role: string): string[] =>
  bindings.filter((binding) => !isDefault(binding) && binding.roleRef.name === role).flatMap(textsOf)

export const bindingsOf = ({ bindings }: ObjectFacts, isMeant: (subject: Subject) => boolean): string[] =>
  bindings.filter((binding) => !isDefault(binding) && binding.subjects?.some(isMeant)).flatMap(textsOf)

/** Roles that were added and name everything. */
export const wildcardRoles = ({ roles }: ObjectFacts): string[] =>
  roles
    .filter((role) => !isDefault(role))
    .filter(({ rules }) =>
      rules?.some(({ verbs, resources, apiGroups }) =>
        [verbs, resources, apiGroups].some((list) => list?.includes('*')),
      ),
    )
    .map(roleName)

/** Passes if these rights were given to none but those of the defaults. */
export const onlyDefaults =
  (...rights: readonly Right[]) =>
  ({ objects }: CisFacts) => {
    const given = rights.flatMap((right) => givenTo(objects, right))
    return passIf(given.length === 0, given.length === 0 ? 'only the default roles give it' : some(given))
  }
