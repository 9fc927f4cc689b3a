/** What iptables-legacy does to the kernel is seen, and what packets do is not. */
import { execFileSync } from 'node:child_process'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { kernelLinux } from '../../src/linux/kernel-linux.ts'
import { legacyTableNames, legacyTablesFingerprint } from '../../src/linux/legacy-tables.ts'
import type { NetworkNamespace } from '../../src/linux/network-namespace.ts'
import { asRoot } from './as-root.ts'

asRoot('legacy tables', () => {
  const linux = kernelLinux()
  let namespace: NetworkNamespace
  beforeEach(() => {
    namespace = linux.namespaces.create(`legacy-tables-${process.pid}`)
  })
  afterEach(() => {
    namespace[Symbol.dispose]()
    linux.namespaces.delete(namespace.name)
  })
  const run = (command: string) =>
    execFileSync('nsenter', [`--net=/run/netns/${namespace.name}`, ...command.split(' ')], { encoding: 'utf8' })

  test.each([
    ['IPv4', 'iptables-legacy', '127.0.0.1'],
    ['IPv6', 'ip6tables-legacy', '::1'],
  ] as const)('%s', (family, iptables, loopback) => {
    const fingerprint = () => linux.namespaces.inNamespace(namespace, () => legacyTablesFingerprint(family))
    expect(fingerprint()).toBe('')
    expect(linux.namespaces.inNamespace(namespace, () => legacyTableNames(family))).toEqual([])
    const seen = new Set<string>()
    const steps = [
      '-t nat -N KUBE-SERVICES',
      '-t nat -A KUBE-SERVICES -p tcp --dport 80 -m statistic --mode random --probability 0.5 -j RETURN',
      '-t nat -I KUBE-SERVICES -j RETURN',
      '-t filter -A OUTPUT -j ACCEPT',
    ]
    for (const step of steps) {
      run(`${iptables} ${step}`)
      seen.add(fingerprint())
    }
    expect(seen.size).toBe(steps.length)
    const before = fingerprint()
    run('ip link set lo up')
    run(`ping -c 1 -W 5 ${loopback}`)
    expect(run(`${iptables} -L OUTPUT -v -x`)).toMatch(/[1-9]\d* +\d+ ACCEPT/)
    expect(fingerprint()).toBe(before)
    run(`${iptables} -t nat -D KUBE-SERVICES 1`)
    expect(fingerprint()).not.toBe(before)
  })
})
