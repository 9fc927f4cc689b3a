/** Pods whose network is made by Debian's CNI plugins. */
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { systemClock } from '../../src/base/clock.ts'
import { silentLogger } from '../../src/base/log.ts'
import { CniPodNetwork } from '../../src/pod-network/cni/cni-pod-network.ts'
import { SandboxRecords } from '../../src/pod-network/sandboxes/sandbox-records.ts'
import { asRoot } from '../linux/as-root.ts'
import { Lab, type Machine } from './pod-network-lab.ts'

const PLUGINS = '/usr/lib/cni'

asRoot('pods on CNI plugins', () => {
  let lab: Lab
  let node: Machine
  let outside: Machine
  let directory: string
  let podNetwork: CniPodNetwork

  const confDir = () => path.join(directory, 'net.d')
  const leases = () => readdirSync(path.join(directory, 'leases', 'pods')).filter((name) => /^\d/.test(name))

  function configure(cniVersion: string, more: readonly object[] = []): void {
    const ipam = {
      type: 'host-local',
      dataDir: path.join(directory, 'leases'),
      ranges: [[{ subnet: '10.88.0.0/24' }], [{ subnet: 'fd00:88::/64' }]],
      routes: [{ dst: '0.0.0.0/0' }, { dst: '::/0' }],
    }
    const bridge = { type: 'bridge', bridge: 'cni1', isGateway: true, ipMasq: true, hairpinMode: true, ipam }
    const list = { cniVersion, name: 'pods', plugins: [bridge, ...more] }
    writeFileSync(path.join(confDir(), '10-pods.conflist'), JSON.stringify(list))
  }

  function open(): CniPodNetwork {
    return new CniPodNetwork({
      linux: node.linux,
      records: new SandboxRecords(path.join(directory, 'sandboxes')),
      log: silentLogger,
      clock: systemClock,
      confDir: confDir(),
      binDirs: [path.join(directory, 'bin'), PLUGINS],
      start: (start) => lab.linux.namespaces.inNamespace(node.inside, start),
    })
  }

  const addPod = (pod = {}) => lab.addPod({ podNetwork }, pod)

  beforeEach(() => {
    lab = new Lab()
    node = lab.addMachine('one')
    outside = lab.addMachine('outside')
    directory = mkdtempSync(path.join(tmpdir(), 'pod-network-cni-'))
    for (const name of ['net.d', 'bin']) mkdirSync(path.join(directory, name))
    podNetwork = open()
  })

  afterEach(async () => {
    await podNetwork.cleanup()
    await podNetwork[Symbol.asyncDispose]()
    await lab[Symbol.asyncDispose]()
    rmSync(directory, { recursive: true, force: true })
  })

  test.each(['0.3.1', '0.4.0', '1.0.0'])('version %s: added, checked, adopted, removed', async (version) => {
    configure(version)
    const a = await addPod()
    const b = await addPod()
    expect(a.addresses).toEqual(['10.88.0.2', 'fd00:88::2'])
    expect(await lab.ping(a.inside, b.addresses[0]!)).toBe(true)
    await expect.poll(() => lab.ping(a.inside, b.addresses[1]!), { timeout: 10_000 }).toBe(true)
    await lab.serve(outside.inside, outside.addresses[0]!, 8080)
    expect(await lab.ask(a.inside, outside.addresses[0]!, 8080)).toBe(node.addresses[0])
    await podNetwork.check(a.sandboxId)
    // The configuration may be another one by now: what was done is undone by the one it was done by.
    rmSync(path.join(confDir(), '10-pods.conflist'))
    podNetwork = open()
    expect(await podNetwork.list()).toEqual(expect.arrayContaining([a.sandboxId, b.sandboxId]))
    await podNetwork.check(b.sandboxId)
    expect((await addPod({ sandboxId: a.sandboxId })).addresses).toEqual(a.addresses)
    await podNetwork.detach(a.sandboxId)
    await podNetwork.detach(a.sandboxId)
    expect(leases()).toEqual(['10.88.0.3'])
  })

  test('CHECK tells what is wrong', async () => {
    configure('0.4.0')
    const pod = await addPod()
    await lab.run(pod.inside, 'ip', ['addr', 'flush', 'dev', 'eth0'])
    await expect(podNetwork.check(pod.sandboxId)).rejects.toThrow(/CNI plugin bridge failed \(CHECK\)/)
  })

  test('a sandbox whose namespace is gone is removed, or made again', async () => {
    configure('1.0.0')
    const pod = await addPod()
    lab.linux.namespaces.delete(path.basename(pod.netnsPath))
    await expect(podNetwork.check(pod.sandboxId)).rejects.toThrow('namespace is gone')
    const again = await addPod({ sandboxId: pod.sandboxId })
    await podNetwork.check(again.sandboxId)
    lab.linux.namespaces.delete(path.basename(again.netnsPath))
    await podNetwork.detach(again.sandboxId)
    expect(leases()).toEqual([])
  })

  test('a failing plugin is quoted, and what others did before is undone', async () => {
    const failing = path.join(directory, 'bin', 'failing')
    writeFileSync(
      failing,
      '#!/bin/sh\ncat >/dev/null\n[ "$CNI_COMMAND" = DEL ] && exit 0\necho \'{"cniVersion":"1.0.0","code":11,"msg":"try again later"}\'\nexit 1\n',
    )
    chmodSync(failing, 0o755)
    configure('1.0.0', [{ type: 'failing' }])
    await expect(addPod()).rejects.toThrow('CNI plugin failing failed (ADD): try again later')
    expect(leases()).toEqual([])
    expect(await podNetwork.list()).toEqual([])
  })

  test('plugins get what they can do: bandwidth', async () => {
    configure('1.0.0', [{ type: 'bandwidth', capabilities: { bandwidth: true } }])
    const pod = await addPod({ bandwidth: { ingress: 8_000_000 } })
    expect(await lab.run(node.inside, 'tc', ['qdisc'])).toMatch(/tbf .*rate 8Mbit/)
    expect(await lab.ping(node.inside, pod.addresses[0]!)).toBe(true)
  })

  test('plugins get what they can do: port mappings', async () => {
    configure('1.0.0', [{ type: 'portmap', capabilities: { portMappings: true } }])
    const pod = await addPod({ hostPorts: [{ protocol: 'TCP', hostPort: 18080, containerPort: 80 }] })
    await lab.serve(pod.inside, pod.addresses[0]!, 80)
    expect(await lab.ask(outside.inside, node.addresses[0]!, 18080)).toBe(outside.addresses[0])
    await podNetwork.detach(pod.sandboxId)
    expect(await lab.ask(outside.inside, node.addresses[0]!, 18080)).toBeUndefined()
  })

  test('without a configuration it is not ready', async () => {
    expect(podNetwork.notReadyReason).toContain('cni plugin not initialized')
    await expect(addPod()).rejects.toThrow('cni plugin not initialized')
    configure('1.0.0')
    expect(podNetwork.notReadyReason).toBeUndefined()
    await addPod()
  })
})
