import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { PolicyRule } from '../../../api/generated/rbac-v1.ts'
import { clusterRoleKind } from '../../../api/kinds/rbac/cluster-role.ts'
import { clusterRoleBindingKind } from '../../../api/kinds/rbac/cluster-role-binding.ts'
import { createClient } from '../../../client/client.ts'
import { type AdmissionServer, startAdmissionServer } from '../admission-server.fixture.ts'
import { addMutatingPolicy, addValidatingPolicy } from './policies.fixture.ts'

let plane: AdmissionServer
beforeEach(async () => {
  plane = await startAdmissionServer()
})
afterEach(() => plane[Symbol.asyncDispose]())

async function asUserWith(rules: PolicyRule[]) {
  const writing = { apiGroups: ['admissionregistration.k8s.io'], resources: ['*'], verbs: ['*'] }
  await plane.client.resource(clusterRoleKind).create({ metadata: { name: 'r' }, rules: [writing, ...rules] })
  await plane.client.resource(clusterRoleBindingKind).create({
    metadata: { name: 'b' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'r' },
    subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'eve' }],
  })
  return createClient(plane.server.transport({ name: 'eve', groups: ['system:authenticated'] }))
}

const paramKind = { apiVersion: 'v1', kind: 'Secret' }
const reading = { apiGroups: [''], resources: ['secrets'], verbs: ['get'] }
const validations = [{ expression: 'false', messageExpression: 'string(params.data.password)' }]
const mutations = [{ patchType: 'ApplyConfiguration', applyConfiguration: { expression: 'Object{}' } }]

describe('who writes a policy can read its parameters', () => {
  it.each<[why: string, rules: PolicyRule[], expected: RegExp | undefined]>([
    [
      'may not read secrets',
      [],
      /spec.paramKind: Forbidden: user eve must have "get" permission on all objects of the referenced paramKind \(kind=Secret, apiVersion=v1\)/,
    ],
    ['may read one secret', [{ ...reading, resourceNames: ['one'] }], /spec.paramKind: Forbidden/],
    ['may read all', [reading], undefined],
  ])('who %s', async (_, rules, expected) => {
    const client = await asUserWith(rules)
    const validating = addValidatingPolicy(client, 'v', { paramKind, validations })
    if (!expected) return expect(await validating).toBeUndefined()
    await expect(validating).rejects.toThrow(expected)
    await expect(addMutatingPolicy(client, 'm', { paramKind, mutations })).rejects.toThrow(expected)
  })

  it('nor bind somebody else’s policy to them', async () => {
    const client = await asUserWith([])
    await addValidatingPolicy(plane.client, 'v', { paramKind, validations })
    const paramRef = { name: 'one', namespace: 'kube-system', parameterNotFoundAction: 'Deny' }
    const bind = addValidatingPolicy(
      client,
      'w',
      { validations: [{ expression: 'true' }] },
      { policyName: 'v', paramRef },
    )
    await expect(bind).rejects.toThrow(/spec.paramRef: Forbidden: user eve must have "get" permission/)
  })
})
