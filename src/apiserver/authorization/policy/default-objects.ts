import type { ClusterRole, ClusterRoleBinding, Role, RoleBinding, Subject } from '../../../api/generated/rbac-v1.ts'
import { LABEL } from '../../../api/meta/well-known.ts'
import { CLUSTER_BINDINGS, type DefaultBinding, NAMESPACE_BINDINGS } from './bindings.ts'
import { componentRoles, namespacedComponentRoles } from './component-roles.ts'
import { controllerRoles } from './controller-roles.ts'
import type { RoleText } from './role-text.ts'
import { AGGREGATED_ROLES, userRoles } from './user-roles.ts'

export const AUTOUPDATE = 'rbac.authorization.kubernetes.io/autoupdate'
const GROUP = 'rbac.authorization.k8s.io'
const API_VERSION = `${GROUP}/v1`
const CONTROLLER = 'system:controller:'

export interface DefaultRoles {
  readonly clusterRoles: readonly ClusterRole[]
  readonly clusterRoleBindings: readonly ClusterRoleBinding[]
  readonly roles: readonly Role[]
  readonly roleBindings: readonly RoleBinding[]
}

/** The roles and bindings that every cluster begins with. */
export function defaultRoles(): DefaultRoles {
  const controllers = controllerRoles().map((role) => ({ ...role, name: CONTROLLER + role.name }))
  const controllerBindings = controllers.map(({ name }) => ({
    name,
    role: name,
    serviceAccounts: [`kube-system/${name.slice(CONTROLLER.length)}`],
  }))
  return {
    clusterRoles: [
      ...AGGREGATED_ROLES.map(aggregatedRole),
      ...[...userRoles(), ...componentRoles(), ...controllers].map(clusterRole),
    ],
    clusterRoleBindings: [...CLUSTER_BINDINGS, ...controllerBindings].map(clusterRoleBinding),
    roles: namespacedComponentRoles().map(namespacedRole),
    roleBindings: NAMESPACE_BINDINGS.map(roleBinding),
  }
}

const meta = (name: string, labels: readonly string[] = [], namespace?: string) => ({
  name,
  ...(namespace && { namespace }),
  annotations: { [AUTOUPDATE]: 'true' },
  labels: {
    [LABEL.bootstrapping]: 'rbac-defaults',
    ...Object.fromEntries(labels.map((label) => [`${GROUP}/${label}`, 'true'])),
  },
})

function clusterRole({ name, labels, rules }: RoleText): ClusterRole {
  return { apiVersion: API_VERSION, kind: 'ClusterRole', metadata: meta(name, labels), rules: [...rules] }
}

function aggregatedRole({ name, selects, labels }: (typeof AGGREGATED_ROLES)[number]): ClusterRole {
  const clusterRoleSelectors = [{ matchLabels: { [`${GROUP}/${selects}`]: 'true' } }]
  return {
    apiVersion: API_VERSION,
    kind: 'ClusterRole',
    metadata: meta(name, labels),
    aggregationRule: { clusterRoleSelectors },
    rules: [],
  }
}

function namespacedRole({ name: path, rules }: RoleText): Role {
  const [namespace, name] = path.split('/')
  return { apiVersion: API_VERSION, kind: 'Role', metadata: meta(name!, [], namespace), rules: [...rules] }
}

const clusterRoleBinding = (binding: DefaultBinding): ClusterRoleBinding => ({
  apiVersion: API_VERSION,
  kind: 'ClusterRoleBinding',
  metadata: meta(binding.name),
  roleRef: { apiGroup: GROUP, kind: 'ClusterRole', name: binding.role },
  subjects: subjectsOf(binding),
})

const roleBinding = (binding: DefaultBinding): RoleBinding => ({
  apiVersion: API_VERSION,
  kind: 'RoleBinding',
  metadata: meta(binding.name, [], binding.namespace),
  roleRef: { apiGroup: GROUP, kind: 'Role', name: binding.role },
  subjects: subjectsOf(binding),
})

const subjectsOf = ({ users = [], groups = [], serviceAccounts = [] }: DefaultBinding): Subject[] => [
  ...users.map((name) => ({ apiGroup: GROUP, kind: 'User', name })),
  ...groups.map((name) => ({ apiGroup: GROUP, kind: 'Group', name })),
  ...serviceAccounts.map((path) => {
    const [namespace, name] = path.split('/')
    return { kind: 'ServiceAccount', name: name!, namespace: namespace! }
  }),
]
