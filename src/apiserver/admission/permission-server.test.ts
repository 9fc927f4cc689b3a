import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { PolicyRule } from '../../api/generated/rbac-v1.ts'
import { configMapKind } from '../../api/kinds/core/config-map.ts'
import { clusterRoleKind } from '../../api/kinds/rbac/cluster-role.ts'
import { clusterRoleBindingKind } from '../../api/kinds/rbac/cluster-role-binding.ts'
import { createClient } from '../../client/client.ts'
import { type AdmissionServer, startAdmissionServer } from './admission-server.fixture.ts'

let plane: AdmissionServer
beforeEach(async () => {
  plane = await startAdmissionServer({ enableAdmissionPlugins: ['OwnerReferencesPermissionEnforcement'] })
})
afterEach(() => plane[Symbol.asyncDispose]())

const editing = { apiGroups: [''], resources: ['configmaps'], verbs: ['create', 'update', 'get'] }
const deleting = { ...editing, verbs: ['delete'] }
const blocking = { apiGroups: [''], resources: ['configmaps/finalizers'], verbs: ['update'] }

async function asUserWith(rules: PolicyRule[]) {
  await plane.client.resource(clusterRoleKind).create({ metadata: { name: 'r' }, rules })
  await plane.client.resource(clusterRoleBindingKind).create({
    metadata: { name: 'b' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'r' },
    subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'alice' }],
  })
  const user = { name: 'alice', groups: ['system:authenticated'] }
  return createClient(plane.server.transport(user)).resource(configMapKind).namespace('default')
}

describe('owner references under RBAC', () => {
  it.each<[why: string, rules: PolicyRule[], refusal: RegExp | undefined]>([
    ['may edit', [editing], /cannot set an ownerRef on a resource you can't delete/],
    ['may delete', [editing, deleting], /cannot set blockOwnerDeletion/],
    ['may delete and finalize', [editing, deleting, blocking], undefined],
  ])('a user who %s', async (_, rules, refusal) => {
    const maps = await asUserWith(rules)
    const owner = await maps.create({ metadata: { name: 'owner' } })
    const dependent = await maps.create({ metadata: { name: 'dependent' } })
    const { name = '', uid = '' } = owner.metadata
    const ownerReferences = [{ apiVersion: 'v1', kind: 'ConfigMap', name, uid, blockOwnerDeletion: true }]
    const owned = { ...dependent, metadata: { ...dependent.metadata, ownerReferences } }
    if (refusal) await expect(maps.update(owned)).rejects.toThrow(refusal)
    else expect((await maps.update(owned)).metadata.ownerReferences).toEqual(ownerReferences)
  })
})
