import type { Pod } from '../../api/generated/core-v1.ts'
import type { PodDisruptionBudget } from '../../api/generated/policy-v1.ts'
import { isConditionTrue } from '../../api/meta/conditions.ts'
import { compileLabelSelector, type LabelSelector, type Selector } from '../../api/meta/label-selector.ts'
import type { OwnerReference } from '../../api/meta/object.ts'
import { deepEqual } from '../../base/deep-equal.ts'
import { getOrCreate } from '../../base/get-or-create.ts'

const selectors = new WeakMap<PodDisruptionBudget, Selector>()

/** Compiled once for each version of a budget. */
export const selectorOf = (budget: PodDisruptionBudget): Selector =>
  getOrCreate(selectors, budget, () => compileLabelSelector(budget.spec?.selector as LabelSelector | undefined))

const isReady = (pod: Pod) => isConditionTrue(pod.status?.conditions, 'Ready')

export const isHealthy = (pod: Pod) => pod.metadata.deletionTimestamp === undefined && isReady(pod)

export const controllerOf = (pod: Pod): OwnerReference | undefined =>
  pod.metadata.ownerReferences?.find((reference) => reference.controller)

/** Does a budget see no difference between these two states of a pod? */
export const countsAlike = (old: Pod, current: Pod) =>
  isHealthy(old) === isHealthy(current) &&
  old.metadata.deletionTimestamp === current.metadata.deletionTimestamp &&
  controllerOf(old)?.uid === controllerOf(current)?.uid &&
  deepEqual(old.metadata.labels, current.metadata.labels)
