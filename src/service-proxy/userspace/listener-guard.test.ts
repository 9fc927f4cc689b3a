import { expect, it } from 'vitest'
import { fakeLinux } from '../../linux/fake-linux.ts'
import { LISTENER_TABLE_NAME, type ListenerAddress, ListenerGuard } from './listener-guard.ts'

const tcp = (port: number): ListenerAddress => ({ family: 'IPv4', ip: '192.0.2.1', protocol: 'TCP', port })
const udp6: ListenerAddress = { family: 'IPv6', ip: '2001:db8::1', protocol: 'UDP', port: 40_000 }

it('guards the listeners that are open, and no others', async () => {
  const nftables = fakeLinux().openNftables()
  const guard = new ListenerGuard()
  const guarded = (family: 'ip' | 'ip6') => {
    const [set] = nftables.list({ family, name: LISTENER_TABLE_NAME })!.sets
    return nftables.elements(set!).map(({ key }) => Buffer.from(key).toString('hex'))
  }
  const apply = (listeners: ListenerAddress[], isAnew = false) => nftables.commit(guard.changes(listeners, isAnew))
  await apply([tcp(40_000), udp6], true)
  expect(guarded('ip')).toEqual(['c0000201060000009c400000'])
  expect(guarded('ip6')).toEqual(['20010db8000000000000000000000001110000009c400000'])
  await apply([tcp(40_001)])
  expect(guarded('ip')).toEqual(['c0000201060000009c410000'])
  expect(guarded('ip6')).toEqual([])
  expect(guard.changes([tcp(40_001)], false).operations).toEqual([])
  await apply([tcp(40_001)], true)
  expect(guarded('ip')).toEqual(['c0000201060000009c410000'])
})
