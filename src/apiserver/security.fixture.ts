import type { PolicyRule, Subject } from '../api/generated/rbac-v1.ts'
import { ApiError } from '../api/meta/api-error.ts'
import type { KubernetesObject } from '../api/meta/object.ts'
import { systemClock } from '../base/clock.ts'
import { silentLogger } from '../base/log.ts'
import { seededRandom } from '../base/random.ts'
import type { ApiCall, ResourceType, Transport } from '../client/transport.ts'
import { openMemoryStore } from '../store/embedded.ts'
import type { Store } from '../store/store.ts'
import type { UserInfo } from './identity.ts'
import { type ApiServer, type ApiServerOptions, startApiServer } from './server.ts'

const type = (group: string, plural: string, namespaced = true): ResourceType => ({
  group,
  version: 'v1',
  plural,
  namespaced,
})

export const RESOURCES = {
  pods: type('', 'pods'),
  secrets: type('', 'secrets'),
  configMaps: type('', 'configmaps'),
  nodes: type('', 'nodes', false),
  namespaces: type('', 'namespaces', false),
  serviceAccounts: type('', 'serviceaccounts'),
  events: type('', 'events'),
  leases: type('coordination.k8s.io', 'leases'),
  roles: type('rbac.authorization.k8s.io', 'roles'),
  roleBindings: type('rbac.authorization.k8s.io', 'rolebindings'),
  clusterRoles: type('rbac.authorization.k8s.io', 'clusterroles', false),
  clusterRoleBindings: type('rbac.authorization.k8s.io', 'clusterrolebindings', false),
  tokenReviews: type('authentication.k8s.io', 'tokenreviews', false),
  selfReviews: type('authentication.k8s.io', 'selfsubjectreviews', false),
  accessReviews: type('authorization.k8s.io', 'subjectaccessreviews', false),
  localAccessReviews: type('authorization.k8s.io', 'localsubjectaccessreviews'),
  selfAccessReviews: type('authorization.k8s.io', 'selfsubjectaccessreviews', false),
  rulesReviews: type('authorization.k8s.io', 'selfsubjectrulesreviews', false),
} as const

/** An object as a test looks at it. */
export type Anything = KubernetesObject & { spec?: unknown; status?: unknown; [field: string]: unknown }

const RBAC = 'rbac.authorization.k8s.io'

/** An API server in memory, and what tests of who may do what need of it. */
export class SecureServer implements AsyncDisposable {
  readonly server: ApiServer
  readonly admin: Transport
  readonly store: Store
  readonly #ownsStore: boolean

  private constructor(server: ApiServer, store: Store, ownsStore: boolean) {
    this.server = server
    this.store = store
    this.#ownsStore = ownsStore
    this.admin = server.transport({ name: 'admin', groups: ['system:masters'] })
  }

  static async start(options: Partial<ApiServerOptions> = {}): Promise<SecureServer> {
    const store = options.store ?? (await openMemoryStore())
    const server = await startApiServer({
      clock: systemClock,
      random: seededRandom(1),
      log: silentLogger,
      serviceCidrs: ['10.96.0.0/16'],
      disableAdmissionPlugins: ['ServiceAccount'],
      ...options,
      store,
    })
    return new SecureServer(server, store, options.store === undefined)
  }

  as(name: string, ...groups: string[]): Transport {
    return this.server.transport(userOf(name, groups))
  }

  async create(resource: ResourceType, body: object, namespace = 'default'): Promise<Anything> {
    const place = resource.namespaced ? { namespace } : {}
    return (await this.admin.call({ verb: 'create', resource, ...place, body })) as Anything
  }

  /** A role with these rules, given to a user (`ann`), a group (`group:dev`) or an account (`account:ns/name`). */
  async grant(to: string, rules: readonly PolicyRule[], namespace?: string): Promise<void> {
    const name = `${to.replaceAll(/[^a-z0-9]/g, '-')}-${grants++}`
    const kind = namespace ? 'Role' : 'ClusterRole'
    await this.create(namespace ? RESOURCES.roles : RESOURCES.clusterRoles, { metadata: { name }, rules }, namespace)
    const binding = { metadata: { name }, roleRef: { apiGroup: RBAC, kind, name }, subjects: [subjectOf(to)] }
    await this.create(namespace ? RESOURCES.roleBindings : RESOURCES.clusterRoleBindings, binding, namespace)
  }

  async bind(to: string, clusterRole: string, namespace?: string): Promise<void> {
    const roleRef = { apiGroup: RBAC, kind: 'ClusterRole', name: clusterRole }
    const binding = { metadata: { name: `${clusterRole}-${grants++}` }, roleRef, subjects: [subjectOf(to)] }
    await this.create(namespace ? RESOURCES.roleBindings : RESOURCES.clusterRoleBindings, binding, namespace)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.server[Symbol.asyncDispose]()
    if (this.#ownsStore) await this.store[Symbol.asyncDispose]()
  }
}

let grants = 0

export const userOf = (name: string, groups: readonly string[] = []): UserInfo => ({
  name,
  groups: [...groups, 'system:authenticated'],
})

function subjectOf(to: string): Subject {
  if (to.startsWith('group:')) return { apiGroup: RBAC, kind: 'Group', name: to.slice('group:'.length) }
  if (!to.startsWith('account:')) return { apiGroup: RBAC, kind: 'User', name: to }
  const [namespace, name] = to.slice('account:'.length).split('/')
  return { kind: 'ServiceAccount', name: name!, namespace: namespace! }
}

/** `403 Forbidden`, or `ok`. */
export async function outcome(work: Promise<unknown>): Promise<string> {
  try {
    await work
    return 'ok'
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    return `${error.code} ${error.reason}`
  }
}

export async function refusal(work: Promise<unknown>): Promise<string> {
  try {
    await work
    return 'ok'
  } catch (error) {
    return (error as Error).message
  }
}

export const call = (transport: Transport, request: ApiCall): Promise<Anything> =>
  transport.call(request) as Promise<Anything>
