import type { Deployment, ReplicaSet } from '../../api/generated/apps-v1.ts'
import type { Pod } from '../../api/generated/core-v1.ts'
import { deploymentKind } from '../../api/kinds/apps/deployment/kind.ts'
import { replicaSetKind } from '../../api/kinds/apps/replica-set/kind.ts'
import { podKind } from '../../api/kinds/core/pod/kind.ts'
import type { Informer } from '../../client/informer.ts'
import { type Controller, type ControllerContext, ownKey, splitKey, type Watch, watch } from '../controller.ts'
import { claim } from '../pod-control/claim.ts'
import { controllerIndex, controllerOf, dependentsOf } from '../pod-control/owner.ts'
import { isFinished } from '../pod-control/pod-state.ts'
import { compiledSelector } from '../pod-control/selector.ts'
import { watchDependents } from '../pod-control/watch-dependents.ts'
import { isRollingUpdate } from './limits.ts'
import { DeploymentReconciler } from './reconcile.ts'

const selectorOf = (deployment: Deployment) => compiledSelector(deployment.spec?.selector)

/** Rolls a template out: a ReplicaSet per template, up with the newest, down with the others. */
export function deploymentController(context: ControllerContext): Controller {
  const { client, informers } = context
  const deployments = informers.informer(deploymentKind)
  const replicaSets = informers.informer(replicaSetKind, { indexes: controllerIndex })
  const pods = informers.informer(podKind, { indexes: controllerIndex })
  const reconciler = new DeploymentReconciler(context, (replicaSet) =>
    dependentsOf(pods, replicaSet).some((pod) => !isFinished(pod)),
  )
  return {
    name: 'deployment-controller',
    workers: 5,
    watches: [
      watch(deployments, ownKey),
      watchDependents(replicaSets, deployments, 'Deployment', selectorOf),
      watchEndOfPods(pods, replicaSets, deployments),
    ],
    async reconcile(key) {
      const deployment = deployments.get(key)
      if (!deployment) return
      const { namespace } = splitKey(key)
      const claimed = await claim<ReplicaSet>({
        owner: deployment,
        ownerKind: deploymentKind,
        selector: selectorOf(deployment),
        informer: replicaSets,
        dependents: client.resource(replicaSetKind).namespace(namespace),
        owners: client.resource(deploymentKind).namespace(namespace),
      })
      return reconciler.reconcile(deployment, claimed)
    },
  }
}

/** Recreate waits for the last old pod: its end is told by no ReplicaSet. */
function watchEndOfPods(
  pods: Informer<Pod>,
  replicaSets: Informer<ReplicaSet>,
  deployments: Informer<Deployment>,
): Watch {
  return watch(pods, (old, current) => {
    if (current && !isFinished(current)) return []
    const pod = (current ?? old)!
    const namespace = pod.metadata.namespace ?? ''
    const replicaSet = replicaSets.get(`${namespace}/${controllerOf(pod)?.name}`)
    const key = `${namespace}/${(replicaSet && controllerOf(replicaSet)?.name) ?? ''}`
    const deployment = deployments.get(key)
    return deployment && !isRollingUpdate(deployment) ? [key] : []
  })
}
