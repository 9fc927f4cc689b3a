/** What carries bytes between clients and endpoints. Told by messages, as it is in a thread of its own. */
import type { IPFamily } from '../../base/ip-address.ts'

export interface RelayTarget {
  readonly ip: string
  readonly port: number
}

export interface RelayTargets {
  readonly endpoints: readonly RelayTarget[]
  /** How long a client stays with its endpoint; 0: no affinity. */
  readonly affinityMs: number
}

export interface RelayListener extends RelayTargets {
  readonly id: string
  readonly family: IPFamily
  /** The node's own address. */
  readonly ip: string
  readonly protocol: 'TCP' | 'UDP'
}

export type RelayMessage =
  | { readonly op: 'open'; readonly listener: RelayListener }
  | { readonly op: 'change'; readonly id: string; readonly targets: RelayTargets }
  | { readonly op: 'close'; readonly id: string }
  /** Flows that were silent for long end. */
  | { readonly op: 'sweep' }
  | { readonly op: 'stop' }

export type RelayAnswer =
  | { readonly id: string; readonly port: number }
  | { readonly id: string; readonly failure: string }

export interface Relay {
  /** The port that was chosen. */
  open(listener: RelayListener): Promise<number>
  change(id: string, targets: RelayTargets): void
  /** No more clients; connections that are there go on. */
  close(id: string): void
  stop(): void
  /** Called if it ended by itself, with all its listeners. */
  onFailure: (() => void) | undefined
}
