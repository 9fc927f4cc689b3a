import type { Pod } from '../../api/generated/core-v1.ts'
import type { Classified } from '../framework/class-table.ts'
import type { WaitingGroup } from './waiting-pods.ts'

/** A pod on its way to a node. */
export interface QueuedPod {
  pod: Pod
  readonly uid: string
  priority: number
  /** When it came, for the order among equals. */
  readonly order: number
  attempts: number
  /** When it was last found to have no place. */
  since: number
  /** How it was classified, and when. */
  classified?: { readonly version: number; readonly result: Classified }
  /** The plugins that refused it. */
  refusedBy: ReadonlySet<string>
  /** The node on which room is being made for it. */
  nominatedNode?: string
  group?: WaitingGroup
}

export const comesBefore = (a: QueuedPod, b: QueuedPod): boolean =>
  a.priority > b.priority || (a.priority === b.priority && a.order < b.order)
