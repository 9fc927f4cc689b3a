import { expect, test } from 'vitest'
import { silentLogger } from '../../base/log.ts'
import { fakeLinux } from '../../linux/fake-linux.ts'
import { DEFAULT_CONNTRACK_LIMITS, raiseConntrackLimits } from './conntrack-limits.ts'

test.each<[number, string, string]>([
  [1, '65536', '131072'],
  [8, '65536', '262144'],
  [8, '1048576', '1048576'],
])('%i cores, limit %s: %s', (cores, before, after) => {
  const sysctl = fakeLinux().openSysctl()
  sysctl.write('net/netfilter/nf_conntrack_max', before)
  raiseConntrackLimits(DEFAULT_CONNTRACK_LIMITS, cores, silentLogger, sysctl)
  expect(sysctl.read('net/netfilter/nf_conntrack_max')).toBe(after)
  expect(sysctl.read('net/netfilter/nf_conntrack_tcp_timeout_established')).toBe('86400')
  expect(sysctl.read('net/netfilter/nf_conntrack_tcp_timeout_close_wait')).toBe('3600')
})

test('a kernel that refuses one gets the others', () => {
  const sysctl = fakeLinux().openSysctl()
  const machineOnly = {
    read: (name: string) => (name.endsWith('_max') ? '1' : sysctl.read(name)),
    write(name: string, value: string | number) {
      if (name.endsWith('_max')) throw new Error('EACCES')
      sysctl.write(name, value)
    },
  }
  raiseConntrackLimits(DEFAULT_CONNTRACK_LIMITS, 4, silentLogger, machineOnly)
  expect(sysctl.read('net/netfilter/nf_conntrack_tcp_timeout_close_wait')).toBe('3600')
})
