import type { ReplicaSet } from '../../api/generated/apps-v1.ts'
import { replicaSetKind } from '../../api/kinds/apps/replica-set/kind.ts'
import type { Controller, ControllerContext } from '../controller.ts'
import { compiledSelector } from '../pod-control/selector.ts'
import { replicaController } from './replica-controller.ts'

export function replicaSetController(context: ControllerContext): Controller {
  return replicaController<ReplicaSet>('replicaset-controller', context, {
    kind: replicaSetKind,
    selectorOf: (replicaSet) => compiledSelector(replicaSet.spec?.selector),
    countsTerminating: true,
  })
}
