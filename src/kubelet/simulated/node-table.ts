import type { Node, Pod } from '../../api/generated/core-v1.ts'
import type { SimulatedNodeSpec } from './node-object.ts'
import { PodAddresses } from './pod-addresses.ts'
import { isTerminal } from './pod-status.ts'

/** One simulated machine. */
export interface SimulatedMachine {
  readonly spec: SimulatedNodeSpec
  readonly index: number
  readonly address: string
  /** False after `kill`: it neither beats nor moves a pod. */
  isAlive: boolean
  /** What the API last said of it. */
  node: Node | undefined
  addresses: PodAddresses | undefined
}

/** The machines by name. */
export type NodeTable = Map<string, SimulatedMachine>

/** Takes over what the API says of a node; true if its pods can have addresses only from now on. */
export function learnNode(machine: SimulatedMachine, node: Node | undefined, pods: () => readonly Pod[]): boolean {
  const before = machine.node?.spec?.podCIDR
  machine.node = node
  if (!node || (machine.addresses && before === node.spec?.podCIDR)) return false
  if (!node.spec?.podCIDR && before !== undefined) return false
  machine.addresses = PodAddresses.ofNode(node, machine.index)
  for (const pod of pods()) if (!isTerminal(pod)) machine.addresses.hold(pod)
  return true
}
