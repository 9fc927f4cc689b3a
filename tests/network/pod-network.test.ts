/** Pods of one node, with real packets: to each other, to the node, out of the cluster, by host ports. */
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { NodeNetwork } from '../../src/pod-network/node-network.ts'
import { asRoot } from '../linux/as-root.ts'
import { Lab, type Machine, podCIDRs } from './pod-network-lab.ts'

const FAMILIES = ['IPv4', 'IPv6'] as const
const index = (family: (typeof FAMILIES)[number]) => (family === 'IPv4' ? 0 : 1)

asRoot('the pod network of a node', () => {
  let lab: Lab
  let node: Machine
  let outside: Machine
  let network: NodeNetwork

  beforeEach(async () => {
    lab = new Lab()
    node = lab.addMachine('one')
    outside = lab.addMachine('outside')
    await lab.register(node, podCIDRs(1))
    network = await lab.startNetwork(node)
  })

  afterEach(() => lab[Symbol.asyncDispose]())

  test.each(FAMILIES)('%s: pods reach each other, their node and the outside', async (family) => {
    const a = await lab.addPod(network)
    const b = await lab.addPod(network)
    const at = index(family)
    expect(await lab.ping(a.inside, b.addresses[at]!)).toBe(true)
    expect(await lab.ping(node.inside, a.addresses[at]!)).toBe(true)
    expect(await lab.ping(a.inside, node.addresses[at]!)).toBe(true)
    await lab.serve(b.inside, b.addresses[at]!, 8080)
    expect(await lab.ask(a.inside, b.addresses[at]!, 8080)).toBe(a.addresses[at])
    // Outside the cluster nobody knows pods: they come as their node.
    await lab.serve(outside.inside, outside.addresses[at]!, 8080)
    expect(await lab.ask(a.inside, outside.addresses[at]!, 8080)).toBe(node.addresses[at])
  })
})
