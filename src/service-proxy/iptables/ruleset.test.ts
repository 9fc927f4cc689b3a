import { expect, test } from 'vitest'
import { silentLogger } from '../../base/log.ts'
import { VirtualClock } from '../../base/virtual-clock.ts'
import { fakeLinux } from '../../linux/fake-linux.ts'
import { nodeOf, objectsOf, placementOf, THIS_NODE } from '../packet-flow-objects.contract.ts'
import type { FlowService } from '../packet-flows.contract.ts'
import { ServiceTable } from '../service-table.ts'
import { endpointChain, portChains } from './chain-names.ts'
import { fakeIptables, rulesOf } from './fake-iptables.ts'
import { createIptablesBackend } from './iptables-backend.ts'
import { ruleForm } from './rule-form.ts'

const web: FlowService = { name: 'web', clusterIP: 'C1', ports: ['80'], endpoints: ['L1', 'R1', 'R2'] }
const { cluster } = portChains({ name: 'default/web:p80-tcp', protocol: 'TCP' })

function tableOf(...services: FlowService[]): ServiceTable {
  const table = new ServiceTable({ name: THIS_NODE })
  const objects = objectsOf({ name: '', services, flows: [] }, placementOf('IPv4'))
  for (const service of objects.services) table.serviceChanged(undefined, service)
  for (const slice of objects.endpointSlices) table.endpointSliceChanged(undefined, slice)
  table.update()
  return table
}

function start() {
  const commands = fakeIptables()
  const clock = new VirtualClock()
  const node = nodeOf({ name: '', services: [], flows: [] }, placementOf('IPv4'))
  const backend = createIptablesBackend({ linux: fakeLinux(), node, clock, log: silentLogger }, { commands })
  return { commands, clock, backend }
}

const keysOf = (...tables: ServiceTable[]) =>
  new Set(tables.flatMap((table) => [...table.ports()].map(({ key }) => key)))

test('chains are named as kube-proxy names them', () => {
  const port = { name: 'ns1/svc1:p80', protocol: 'TCP' } as const
  expect(portChains(port)).toEqual({
    cluster: 'KUBE-SVC-XPGD46QRK7WJZT7O',
    local: 'KUBE-SVL-XPGD46QRK7WJZT7O',
    external: 'KUBE-EXT-XPGD46QRK7WJZT7O',
    firewall: 'KUBE-FW-XPGD46QRK7WJZT7O',
  })
  const endpoint = { ip: '10.180.0.1', port: 80, isLocal: false, id: '' }
  expect(endpointChain(port, endpoint)).toBe('KUBE-SEP-SXIVWICOYRO3J4NJ')
})

test('each of three endpoints gets a third', async () => {
  const { commands, backend } = start()
  await backend.apply(tableOf(web), 'all')
  const rules = await rulesOf(commands, 'IPv4', 'nat', cluster)
  expect(rules!.map((rule) => /--probability (\S+)/.exec(rule)?.[1])).toEqual([
    undefined,
    '0.3333333333',
    '0.5000000000',
    undefined,
  ])
  expect(rules![0]).toBe(
    '-m comment --comment "default/web:p80-tcp cluster IP" -m tcp -p tcp -d 10.96.0.5 --dport 80 ! -s 10.244.0.0/16 -j KUBE-MARK-MASQ',
  )
})

test('a change writes the chains of what changed, and no others', async () => {
  const { commands, backend } = start()
  const other: FlowService = { ...web, name: 'other', clusterIP: 'C2' }
  await backend.apply(tableOf(web, other), 'all')
  const changed = tableOf({ ...web, endpoints: ['L1', 'R1'] }, other)
  await backend.apply(changed, new Set([...keysOf(changed)].filter((key) => key.includes('/web:'))))
  const text = commands.restored.at(-1)!
  expect(text).not.toContain('other')
  expect(text.split('\n').filter((line) => line.startsWith(':'))).toHaveLength(2)
  expect(text).toMatch(/^-X KUBE-SEP-/m)
})

test('a Service that goes leaves nothing', async () => {
  const { commands, backend } = start()
  await backend.apply(tableOf(), 'all')
  const empty = await commands.save('IPv4')
  const full = tableOf({
    ...web,
    ports: ['80:30080'],
    loadBalancerIPs: ['B1'],
    sourceRanges: ['E'],
    affinitySeconds: 5,
  })
  await backend.apply(full, keysOf(full))
  expect(await commands.save('IPv4')).not.toBe(empty)
  await backend.apply(tableOf(), keysOf(full))
  expect(await commands.save('IPv4')).toBe(empty)
})

test('a full sync removes chains that nobody asks for, and doubled jumps', async () => {
  const { commands, backend } = start()
  await backend.apply(tableOf(web), 'all')
  const wanted = await commands.save('IPv4')
  await commands.restore('IPv4', '*nat\n:KUBE-SEP-AAAAAAAAAAAAAAAA - [0:0]\n-I OUTPUT 1 -j KUBE-SERVICES\nCOMMIT\n')
  await backend.apply(tableOf(web), 'all')
  expect(await commands.save('IPv4')).toBe(wanted)
})

test('after a failure everything is written', async () => {
  const { commands, backend } = start()
  const table = tableOf(web)
  await backend.apply(table, 'all')
  commands.flush('IPv4')
  await expect(backend.apply(tableOf(), keysOf(table))).rejects.toThrow('no chain')
  await backend.apply(table, keysOf(table))
  expect(await rulesOf(commands, 'IPv4', 'nat', cluster)).toHaveLength(4)
})

test('a full sync writes nothing if nothing is different, and only what is', async () => {
  const { commands, backend } = start()
  const other: FlowService = { ...web, name: 'other', clusterIP: 'C2' }
  await backend.apply(tableOf(web, other), 'all')
  await backend.apply(tableOf(web, other), 'all')
  expect(commands.restored).toHaveLength(1)
  // As another process would, and in other words than ours.
  const damage = `*nat\n:${cluster} - [0:0]\n-A ${cluster} -j RETURN\nCOMMIT\n`
  await commands.restore('IPv4', damage)
  await backend.apply(tableOf(web, other), 'all')
  const text = commands.restored.at(-1)!
  expect(text.split('\n').filter((line) => line.startsWith(':'))).toEqual([`:${cluster} - [0:0]`])
  expect(await rulesOf(commands, 'IPv4', 'nat', cluster)).toHaveLength(4)
})

test.each([
  [
    '-m comment --comment "a b" -m tcp -p tcp -d 10.96.0.1 --dport 80 ! -s 10.244.0.0/16 -j KUBE-MARK-MASQ',
    '! -s 10.244.0.0/16 -d 10.96.0.1/32 -p tcp -m comment --comment "a b" -m tcp --dport 80 -j KUBE-MARK-MASQ',
  ],
  ['-j MARK --or-mark 0x4000', '-j MARK --set-xmark 0x4000/0x4000'],
  ['-j MARK --xor-mark 0x4000', '-j MARK --set-xmark 0x4000/0x0'],
  [
    '-m statistic --mode random --probability 0.3333333333 -j X',
    '-m statistic --mode random --probability 0.33333333349 -j X',
  ],
  ['-j REJECT', '-j REJECT --reject-with icmp-port-unreachable'],
  ['-m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT', '-m conntrack --ctstate ESTABLISHED,RELATED -j ACCEPT'],
  [
    '-m recent --name X --rcheck --seconds 5 --reap -j X',
    '-m recent --rcheck --seconds 5 --reap --name X --mask 255.255.255.255 --rsource -j X',
  ],
])('%s is %s', (given, saved) => {
  expect(ruleForm(given)).toBe(ruleForm(saved))
})

test.each([
  ['-d 10.96.0.1 -j X', '-d 10.96.0.2/32 -j X'],
  ['-s 10.96.0.1 -j X', '! -s 10.96.0.1/32 -j X'],
  ['-j DNAT --to-destination 10.0.0.1:80', '-j DNAT --to-destination 10.0.0.1:81'],
  ['-m statistic --mode random --probability 0.3333 -j X', '-m statistic --mode random --probability 0.5 -j X'],
  ['-j REJECT --reject-with tcp-reset', '-j REJECT --reject-with icmp-port-unreachable'],
])('%s is not %s', (given, saved) => {
  expect(ruleForm(given)).not.toBe(ruleForm(saved))
})

test('a flush by others is noticed', async () => {
  const { commands, clock, backend } = start()
  await backend.apply(tableOf(web), 'all')
  let noticed = 0
  using _watch = backend.onDrift(() => noticed++)
  await clock.advanceAsync(20_000)
  expect(noticed).toBe(0)
  commands.flush('IPv4')
  await clock.advanceAsync(20_000)
  expect(noticed).toBeGreaterThan(0)
})

test('now and then all is compared, for changes that nobody tells of', async () => {
  const { clock, backend } = start()
  await backend.apply(tableOf(web), 'all')
  let noticed = 0
  using _watch = backend.onDrift(() => noticed++)
  await clock.advanceAsync(50_000)
  expect(noticed).toBe(0)
  await clock.advanceAsync(20_000)
  expect(noticed).toBe(1)
})

test('loopback node ports: the kernel is told, strangers are kept away, and all is as before afterwards', async () => {
  const commands = fakeIptables()
  const linux = fakeLinux()
  const routed = () => linux.openSysctl().read('net/ipv4/conf/all/route_localnet')
  const open = () => {
    const node = {
      ...nodeOf({ name: '', services: [], flows: [] }, placementOf('IPv4')),
      nodePortAddresses: ['0.0.0.0/0'],
    }
    return createIptablesBackend({ linux, node, clock: new VirtualClock(), log: silentLogger }, { commands })
  }
  await open().apply(tableOf(web), 'all')
  expect(routed()).toBe('1')
  expect((await rulesOf(commands, 'IPv4', 'filter', 'KUBE-FIREWALL'))!.at(-1)).toMatch(
    /-d 127.0.0.0\/8 ! -s 127.0.0.0\/8 .* -j DROP$/,
  )
  // The next process finds it on, and still knows that it was not.
  const next = open()
  await next.apply(tableOf(web), 'all')
  await next.cleanup()
  expect(routed()).toBe('0')
})

test('cleaning up takes everything away', async () => {
  const { commands, backend } = start()
  const before = await commands.save('IPv4')
  await backend.apply(tableOf(web), 'all')
  await backend.cleanup()
  expect(await commands.save('IPv4')).toBe(before)
})
