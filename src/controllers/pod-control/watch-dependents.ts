import { matchesLabels, type Selector } from '../../api/meta/label-selector.ts'
import type { KubernetesObject } from '../../api/meta/object.ts'
import { deepEqual } from '../../base/deep-equal.ts'
import { byNamespace, type Informer, objectKey } from '../../client/informer.ts'
import { controllerKeys, type Watch, watch } from '../controller.ts'
import { controllerOf } from './owner.ts'

/**
 * Wakes the controller of each dependent that changes, and for an orphan those who might adopt it: the owners in its
 * namespace whose selector selects it.
 */
export function watchDependents<T extends KubernetesObject, O extends KubernetesObject>(
  dependents: Informer<T>,
  owners: Informer<O>,
  kind: string,
  selectorOf: (owner: O) => Selector,
): Watch {
  owners.addIndexes({ namespace: byNamespace })
  const keysOfControllers = controllerKeys(kind)
  return watch(dependents, (old, current) => {
    const keys = keysOfControllers(old, current)
    if (current && isNewOrphan(old, current))
      for (const owner of owners.byIndex('namespace', current.metadata.namespace ?? ''))
        if (matchesLabels(selectorOf(owner), current.metadata.labels)) keys.push(objectKey(owner))
    return keys
  })
}

function isNewOrphan(old: KubernetesObject | undefined, current: KubernetesObject): boolean {
  if (controllerOf(current)) return false
  return !old || controllerOf(old) !== undefined || !deepEqual(old.metadata.labels, current.metadata.labels)
}
