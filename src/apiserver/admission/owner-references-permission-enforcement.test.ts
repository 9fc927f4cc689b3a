import { expect, it } from 'vitest'
import type { Kind } from '../../api/kind.ts'
import { replicaSetKind } from '../../api/kinds/apps/replica-set/kind.ts'
import { podKind } from '../../api/kinds/core/pod/kind.ts'
import type { KubernetesObject, OwnerReference } from '../../api/meta/object.ts'
import type { Authorizer } from '../authorization/authorizer.ts'
import { admitted } from './admission.fixture.ts'
import { ownerReferencesPermissionEnforcement } from './owner-references-permission-enforcement.ts'
import type { AdmissionRequest } from './plugin.ts'

const only = (...allowed: string[]): Authorizer => ({
  decide(_, { verb, resource: at }) {
    const what = `${verb} ${at!.resource}${at!.group && `.${at!.group}`}${at!.subresource && `/${at!.subresource}`} ${at!.namespace}/${at!.name}`
    return { allowed: allowed.includes(what), reason: 'no rule' }
  },
})
const findKind = (group: string, version: string, kind: string): Kind | undefined =>
  [replicaSetKind, podKind].find((one) => one.group === group && one.version === version && one.kind === kind)
const owner = (rest: Partial<OwnerReference> = {}): OwnerReference => ({
  apiVersion: 'apps/v1',
  kind: 'ReplicaSet',
  name: 'r',
  uid: '1',
  ...rest,
})
const pod = (...ownerReferences: OwnerReference[]): KubernetesObject => ({
  metadata: { name: 'p', namespace: 'n', ...(ownerReferences.length > 0 && { ownerReferences }) },
})
const blocking = { blockOwnerDeletion: true }
const CANNOT_DELETE = "cannot set an ownerRef on a resource you can't delete: no rule, <nil>"
const CANNOT_FINALIZE =
  "cannot set blockOwnerDeletion if an ownerReference refers to a resource you can't set finalizers on: no rule, <nil>"
const UNKNOWN =
  'cannot set blockOwnerDeletion in this case because cannot find RESTMapping for APIVersion v9 Kind Thing: no matches for kind "Thing" in version "v9"'

it.each<[why: string, allowed: string[], draft: KubernetesObject, old: KubernetesObject | undefined, refusal?: string]>(
  [
    ['no owners', [], pod(), undefined],
    ['a new object may have any owner', [], pod(owner()), undefined],
    ['the same owners as before', [], pod(owner()), pod(owner())],
    ['another owner', [], pod(owner()), pod(), CANNOT_DELETE],
    ['another owner of what one may delete', ['delete pods n/p'], pod(owner()), pod()],
    ['an owner gone', [], pod(), pod(owner()), CANNOT_DELETE],
    ['holding up the owner', [], pod(owner(blocking)), undefined, CANNOT_FINALIZE],
    ['by who may', ['update replicasets.apps/finalizers n/r'], pod(owner(blocking)), undefined],
    ['by who may everything', ['update *.*/finalizers /*'], pod(owner(blocking)), undefined],
    ['an owner of no kind', [], pod(owner({ ...blocking, apiVersion: 'v9', kind: 'Thing' })), undefined, UNKNOWN],
    ['as before, and one more', ['delete pods n/p'], pod(owner(blocking), owner({ uid: '2' })), pod(owner(blocking))],
    ['held up from now on', ['delete pods n/p'], pod(owner(blocking)), pod(owner()), CANNOT_FINALIZE],
  ],
)('%s', async (_, allowed, draft, old, refusal) => {
  const change = (old ? { operation: 'UPDATE', old } : {}) as Partial<AdmissionRequest>
  const plugin = ownerReferencesPermissionEnforcement(only(...allowed), findKind)
  const expected = refusal === undefined ? draft : `pods "p" is forbidden: ${refusal}`
  expect(await admitted(plugin, podKind, draft, change)).toEqual(expected)
})
