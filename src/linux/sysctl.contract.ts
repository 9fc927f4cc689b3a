import { describe, expect, test } from 'vitest'
import type { Linux } from './linux.ts'
import { codeOf, scratch } from './scratch.contract.ts'

export function sysctlContract(name: string, open: () => Linux): void {
  describe(`sysctl: ${name}`, () => {
    const start = scratch(open)

    test('each namespace has its own', () => {
      const { linux, namespace } = start()
      const one = linux.openSysctl(namespace())
      const two = linux.openSysctl(namespace())
      one.write('net/ipv4/ip_forward', 1)
      two.write('net/ipv4/ip_forward', 0)
      expect(one.read('net/ipv4/ip_forward')).toBe('1')
      expect(two.read('net/ipv4/ip_forward')).toBe('0')
    })

    test('those of a link come and go with it, and follow the default', () => {
      const { linux, namespace, use } = start()
      const inside = namespace()
      const sysctl = linux.openSysctl(inside)
      const setting = 'net/ipv6/conf/cni0/accept_redirects'
      expect(sysctl.read(setting)).toBeUndefined()
      expect(codeOf(() => sysctl.write(setting, 0))).toBe('ENOENT')
      sysctl.write('net/ipv6/conf/default/accept_redirects', 0)
      const network = use(linux.openRtnetlink(inside))
      const { index } = network.addLink({ kind: 'bridge', name: 'cni0' })
      expect(sysctl.read(setting)).toBe('0')
      sysctl.write(setting, 1)
      expect(sysctl.read(setting)).toBe('1')
      network.deleteLink(index)
      expect(sysctl.read(setting)).toBeUndefined()
    })

    test.each(['kernel/hostname', 'net/../kernel/hostname'])('%s is none of the network', (bad) => {
      const sysctl = start().linux.openSysctl()
      expect(codeOf(() => sysctl.read(bad))).toBe('EINVAL')
      expect(codeOf(() => sysctl.write(bad, 'x'))).toBe('EINVAL')
    })
  })
}
