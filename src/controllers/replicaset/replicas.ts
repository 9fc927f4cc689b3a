import type { ReplicaSetStatus } from '../../api/generated/apps-v1.ts'
import type { Pod, PodTemplateSpec } from '../../api/generated/core-v1.ts'
import type { Kind } from '../../api/kind.ts'
import type { Selector } from '../../api/meta/label-selector.ts'
import type { KubernetesObject } from '../../api/meta/object.ts'

/** What a ReplicaSet and a ReplicationController have in common: so many pods of one template. */
export interface Replicated extends KubernetesObject {
  spec?: { replicas?: number; minReadySeconds?: number; template?: PodTemplateSpec }
  status?: ReplicaSetStatus
}

/** In what the two differ. */
export interface ReplicatedKind<T extends Replicated> {
  readonly kind: Kind<T>
  selectorOf(object: T): Selector
  /** ReplicationControllers do not count their terminating pods. */
  readonly countsTerminating: boolean
}

/** The pods of one owner, sorted out. */
export interface ReplicaPods {
  readonly active: readonly Pod[]
  readonly terminating: readonly Pod[]
}
