import type { DaemonSet } from '../../api/generated/apps-v1.ts'
import type { Node } from '../../api/generated/core-v1.ts'
import { deepEqual } from '../../base/deep-equal.ts'
import { type Informer, objectKey } from '../../client/informer.ts'
import { type Controller, type ControllerContext, ownKey, type Watch, watch } from '../controller.ts'
import { compiledSelector } from '../pod-control/selector.ts'
import { watchDependents } from '../pod-control/watch-dependents.ts'
import { eligibility } from './eligibility.ts'
import { DaemonSetReconciler } from './reconcile.ts'

/** Keeps one pod on each node that a DaemonSet is for. */
export function daemonSetController(context: ControllerContext): Controller {
  const reconciler = new DaemonSetReconciler(context)
  const { daemonSets, nodes, pods, expectations, history } = reconciler
  return {
    name: 'daemonset-controller',
    workers: 2,
    watches: [
      expectations.watch,
      watch(daemonSets, ownKey),
      watchDependents(pods, daemonSets, 'DaemonSet', ({ spec }) => compiledSelector(spec?.selector)),
      watchNodes(nodes, daemonSets),
      // Woken by none, but it must know them all before it starts.
      watch(history.informer, () => []),
    ],
    reconcile: (key) => reconciler.reconcile(key),
  }
}

/** A node matters when it comes, goes, or changes what decides who may run there; its heartbeats do not. */
function watchNodes(nodes: Informer<Node>, daemonSets: Informer<DaemonSet>): Watch {
  return watch(nodes, (old, current) => {
    if (old && current && isAlike(old, current)) return []
    return daemonSets
      .list()
      .filter((daemonSet) => {
        const eligible = eligibility(daemonSet)
        const [before, after] = [old && eligible(old), current && eligible(current)]
        return !!before?.mayStay !== !!after?.mayStay || !!before?.shouldRun !== !!after?.shouldRun
      })
      .map(objectKey)
  })
}

const isAlike = (a: Node, b: Node) =>
  deepEqual(a.metadata.labels, b.metadata.labels) && deepEqual(a.spec?.taints, b.spec?.taints)
