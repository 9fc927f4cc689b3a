import type { Deployment, ReplicaSet } from '../../api/generated/apps-v1.ts'
import type { PodTemplateSpec } from '../../api/generated/core-v1.ts'
import { deploymentKind } from '../../api/kinds/apps/deployment/kind.ts'
import { deepEqual } from '../../base/deep-equal.ts'
import { templateHash } from '../controller-revision/template-hash.ts'
import { controllerRef } from '../pod-control/owner.ts'
import { initialAnnotations } from './annotations.ts'
import { newReplicaSetSize } from './limits.ts'
import { byAge, type Rollout } from './rollout.ts'

const HASH_LABEL = 'pod-template-hash'

/** Which of its ReplicaSets has the template of the Deployment. Of several the oldest: the others are left-overs. */
export function rolloutOf(deployment: Deployment, replicaSets: readonly ReplicaSet[]): Rollout {
  const sorted = [...replicaSets].sort(byAge)
  const newReplicaSet = sorted.find((one) => hasTemplate(one, deployment))
  return { deployment, newReplicaSet, oldReplicaSets: sorted.filter((one) => one !== newReplicaSet) }
}

export function hasTemplate(replicaSet: ReplicaSet, deployment: Deployment): boolean {
  return deepEqual(withoutHash(replicaSet.spec?.template), withoutHash(deployment.spec?.template))
}

/** Clients write an empty creation time into templates; it says as little about the pods as our own label does. */
function withoutHash(template: PodTemplateSpec | undefined): PodTemplateSpec {
  const { creationTimestamp: _, labels, ...metadata } = template?.metadata ?? {}
  const { [HASH_LABEL]: __, ...others } = labels ?? {}
  return { ...template, metadata: { ...metadata, labels: others } }
}

/** The ReplicaSet for the template of the Deployment. Its name follows from the template, so it is made only once. */
export function newReplicaSet(deployment: Deployment, old: readonly ReplicaSet[], revision: bigint): ReplicaSet {
  const { selector, template, minReadySeconds } = deployment.spec!
  const hash = templateHash(withoutHash(template), deployment.status?.collisionCount)
  const labels = { ...template.metadata?.labels, [HASH_LABEL]: hash }
  return {
    apiVersion: 'apps/v1',
    kind: 'ReplicaSet',
    metadata: {
      name: `${deployment.metadata.name}-${hash}`,
      namespace: deployment.metadata.namespace ?? '',
      labels,
      annotations: initialAnnotations(deployment, revision),
      ownerReferences: [controllerRef(deployment, deploymentKind)],
    },
    spec: {
      replicas: newReplicaSetSize(deployment, old, undefined),
      ...(minReadySeconds && { minReadySeconds }),
      selector: { ...selector, matchLabels: { ...selector.matchLabels, [HASH_LABEL]: hash } },
      template: { ...template, metadata: { ...template.metadata, labels } },
    },
  }
}
