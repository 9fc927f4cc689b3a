import type { ReplicationController } from '../../api/generated/core-v1.ts'
import { replicationControllerKind } from '../../api/kinds/core/replication-controller.ts'
import { NOTHING, selectorFromSet } from '../../api/meta/label-selector.ts'
import type { Controller, ControllerContext } from '../controller.ts'
import { replicaController } from '../replicaset/replica-controller.ts'

export function replicationControllerController(context: ControllerContext): Controller {
  return replicaController<ReplicationController>('replicationcontroller-controller', context, {
    kind: replicationControllerKind,
    selectorOf: ({ spec }) => (spec?.selector ? selectorFromSet(spec.selector) : NOTHING),
    countsTerminating: false,
  })
}
