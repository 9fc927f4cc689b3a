/** Pods of one node, with real packets: to each other, to the node, out of the cluster, by host ports. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { NodeNetwork } from '../../src/pod-network/node-network.ts'
import { asRoot } from '../linux/as-root.ts'
import { Lab, type Machine, podCIDRs } from './pod-network-lab.ts'

const FAMILIES = ['IPv4', 'IPv6'] as const

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

  describe.each(FAMILIES)('%s', (family) => {
    const at = family === 'IPv4' ? 0 : 1

    test('pods reach each other, their node and the outside', async () => {
      const a = await lab.addPod(network)
      const b = await lab.addPod(network)
      expect(await lab.ping(a.inside, b.addresses[at]!)).toBe(true)
      expect(await lab.ping(node.inside, a.addresses[at]!)).toBe(true)
      expect(await lab.ping(a.inside, node.addresses[at]!)).toBe(true)
      await lab.serve(b.inside, b.addresses[at]!, 8080)
      expect(await lab.ask(a.inside, b.addresses[at]!, 8080)).toBe(a.addresses[at])
      // Outside the cluster nobody knows pods: they come as their node.
      await lab.serve(outside.inside, outside.addresses[at]!, 8080)
      expect(await lab.ask(a.inside, outside.addresses[at]!, 8080)).toBe(node.addresses[at])
    })

    test('a host port leads to the pod: from outside, from other pods, from the pod itself, from the node', async () => {
      const pod = await lab.addPod(network, { hostPorts: [{ protocol: 'TCP', hostPort: 18080, containerPort: 80 }] })
      const other = await lab.addPod(network)
      await lab.serve(pod.inside, pod.addresses[at]!, 80)
      const host = node.addresses[at]!
      expect(await lab.ask(outside.inside, host, 18080)).toBe(outside.addresses[at])
      expect(await lab.ask(other.inside, host, 18080)).toBe(other.addresses[at])
      const gateway = podCIDRs(1)[at]!.replace(/(0?)\/\d+$/, '1')
      expect(await lab.ask(pod.inside, host, 18080)).toBe(gateway)
      expect(await lab.ask(node.inside, host, 18080)).toBe(host)
      if (family === 'IPv4') expect(await lab.ask(node.inside, '127.0.0.1', 18080)).toBe(gateway)
      expect(await lab.ask(outside.inside, host, 18081)).toBeUndefined()
      await network.podNetwork.detach(pod.sandboxId)
      expect(await lab.ask(outside.inside, host, 18080)).toBeUndefined()
    })

    test('a host port of one address is one of that address only', async () => {
      const hostIP = node.addresses[at]!
      const hostPorts = [{ protocol: 'TCP', hostPort: 18080, containerPort: 80, hostIP }] as const
      const pod = await lab.addPod(network, { hostPorts })
      await lab.serve(pod.inside, pod.addresses[at]!, 80)
      expect(await lab.ask(outside.inside, hostIP, 18080)).toBe(outside.addresses[at])
      const gateway = podCIDRs(1)[at]!.replace(/(0?)\/\d+$/, '1')
      expect(await lab.ask(pod.inside, gateway, 18080)).toBeUndefined()
    })
  })

  test('pods do not reach the loopback of the node', async () => {
    const pod = await lab.addPod(network)
    await lab.serve(node.inside, '127.0.0.1', 18082)
    const inside = lab.linux.openRtnetlink(pod.inside)
    inside.addRoute({
      destination: '127.0.0.2/32',
      gateway: '10.244.1.1',
      onlink: true,
      link: inside.link('eth0')!.index,
    })
    await lab.serve(node.inside, '127.0.0.2', 18082)
    await lab.run(pod.inside, 'ip', ['route', 'del', 'local', '127.0.0.0/8', 'dev', 'lo', 'table', 'local'])
    inside[Symbol.dispose]()
    lab.linux.openSysctl(pod.inside).write('net/ipv4/conf/all/route_localnet', 1)
    expect(await lab.ask(pod.inside, '127.0.0.2', 18082)).toBeUndefined()
  })

  test('the size of packets follows the uplink', async () => {
    const small = lab.addMachine('small', { mtu: 1400 })
    await lab.register(small, podCIDRs(9))
    const pod = await lab.addPod(await lab.startNetwork(small))
    const inside = lab.linux.openRtnetlink(pod.inside)
    expect(inside.link('eth0')?.mtu).toBe(1400)
    inside[Symbol.dispose]()
  })

  test('what goes in and out is limited', async () => {
    const pod = await lab.addPod(network, { bandwidth: { ingress: 8_000_000, egress: 16_000_000 } })
    expect(await lab.run(node.inside, 'tc', ['qdisc'])).toMatch(/tbf .*rate 8Mbit burst 64Kb/)
    expect(await lab.run(pod.inside, 'tc', ['qdisc'])).toMatch(/tbf .*rate 16Mbit burst 64Kb/)
    expect(await lab.ping(node.inside, pod.addresses[0]!)).toBe(true)
  })

  test('pods, addresses and host ports live on when the process ends, and the next one adopts them', async () => {
    const pod = await lab.addPod(network, { hostPorts: [{ protocol: 'TCP', hostPort: 18080, containerPort: 80 }] })
    await lab.serve(pod.inside, pod.addresses[0]!, 80)
    await lab.stopNetwork(network)
    expect(await lab.ask(outside.inside, node.addresses[0]!, 18080)).toBe(outside.addresses[0])
    const next = await lab.startNetwork(node)
    expect(await next.podNetwork.list()).toEqual([pod.sandboxId])
    await next.podNetwork.check(pod.sandboxId)
    expect((await lab.addPod(next, { sandboxId: pod.sandboxId })).addresses).toEqual(pod.addresses)
    expect((await lab.addPod(next)).addresses).not.toEqual(pod.addresses)
    expect(await lab.ask(outside.inside, node.addresses[0]!, 18080)).toBe(outside.addresses[0])
  })

  test('rules, bridge and addresses that someone took away are put back', async () => {
    const pod = await lab.addPod(network)
    await lab.serve(outside.inside, outside.addresses[0]!, 8080)
    await lab.run(node.inside, 'nft', ['flush', 'ruleset'])
    await expect.poll(() => lab.ask(pod.inside, outside.addresses[0]!, 8080), POLL).toBe(node.addresses[0])
    await lab.run(node.inside, 'ip', ['link', 'delete', 'cni0'])
    await expect.poll(() => lab.ping(node.inside, pod.addresses[0]!), POLL).toBe(true)
    await lab.run(node.inside, 'ip', ['addr', 'flush', 'dev', 'cni0'])
    await expect.poll(() => lab.ping(node.inside, pod.addresses[1]!), POLL).toBe(true)
  })

  test('cleaning up leaves nothing', async () => {
    const pod = await lab.addPod(network, { hostPorts: [{ protocol: 'TCP', hostPort: 18080, containerPort: 80 }] })
    await network.cleanup()
    const links = lab.linux.openRtnetlink(node.inside)
    expect(links.link('cni0')).toBeUndefined()
    links[Symbol.dispose]()
    const nftables = lab.linux.openNftables(node.inside)
    expect(nftables.tables()).toEqual([])
    nftables[Symbol.dispose]()
    expect(lab.linux.namespaces.list()).not.toContain(pod.netnsPath.split('/').at(-1))
    expect(await network.podNetwork.list()).toEqual([])
  })
})

const POLL = { timeout: 20_000, interval: 100 }
