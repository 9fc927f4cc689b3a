import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { clusterRoleBindingKind } from '../api/kinds/rbac/cluster-role-binding.ts'
import { roleBindingKind } from '../api/kinds/rbac/role-binding.ts'
import { controllers } from '../controllers/all.ts'
import { serviceAccountKeys } from './credentials/service-account-keys.ts'
import { controllerIdentity } from './identities.ts'
import { type Cluster, startCluster } from './start-cluster.ts'

let cluster: Cluster
let bound: Set<string>
beforeAll(async () => {
  cluster = await startCluster({ listen: false, controllers: false, scheduler: false })
  const everywhere = await cluster.client.resource(clusterRoleBindingKind).list()
  const inNamespaces = await cluster.client.resource(roleBindingKind).list()
  const subjects = [...everywhere.items, ...inNamespaces.items].flatMap((binding) => binding.subjects ?? [])
  bound = new Set(subjects.map(({ kind, namespace, name }) => `${kind} ${namespace ?? ''}:${name}`))
})
afterAll(() => cluster[Symbol.asyncDispose]())

describe('every controller', () => {
  it.each(Object.keys(controllers))('%s has a role of its own', (controller) => {
    const account = controllerIdentity(controller).name.replace('system:serviceaccount:', '')
    expect([...bound]).toContain(`ServiceAccount ${account}`)
  })
})

describe('serviceAccountKeys', () => {
  const pem = (type: string, text: string) => `-----BEGIN ${type}-----\n${text}\n-----END ${type}-----\n`

  it.each([
    ['one key', pem('PRIVATE KEY', 'a'), 1],
    ['a new key before the old', pem('PRIVATE KEY', 'a') + pem('EC PRIVATE KEY', 'b'), 2],
    ['a key and a certificate', pem('CERTIFICATE', 'c') + pem('RSA PRIVATE KEY', 'a'), 1],
  ])('finds %s', async (_, serviceAccountKey, count) => {
    const keys = await serviceAccountKeys(Promise.resolve({ serviceAccountKey }))()
    expect(keys).toHaveLength(count)
    expect(keys[0]).toContain('\na\n')
  })
})
