import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { resolvConfWith, upstreamDnsServers } from './upstream-dns.ts'

const folder = mkdtempSync(path.join(tmpdir(), 'sampan-resolv-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

it.each([
  [
    'servers of the network',
    'nameserver 192.0.2.53\nnameserver 2001:db8::53',
    undefined,
    ['192.0.2.53', '2001:db8::53'],
  ],
  [
    'the stub of systemd-resolved',
    'nameserver 127.0.0.53',
    'nameserver 192.0.2.1\nnameserver 192.0.2.2',
    ['192.0.2.1', '192.0.2.2'],
  ],
  ['one on loopback beside others', 'nameserver 127.0.0.1\nnameserver 192.0.2.53', undefined, ['192.0.2.53']],
  ['only one on loopback', 'nameserver 127.0.0.11\noptions ndots:0', undefined, ['127.0.0.11']],
  ['a stub that knows nobody', 'nameserver 127.0.0.53', 'search example.com', ['127.0.0.53']],
  [
    'comments and nonsense',
    '# nameserver 192.0.2.1\n nameserver\t192.0.2.2 \nnameserver here',
    undefined,
    ['192.0.2.2'],
  ],
  ['an empty file', '', undefined, []],
  ['no file', undefined, undefined, []],
])('%s', (what, own, behind, expected) => {
  const files = [own, behind].map((text, i) => {
    const file = path.join(folder, `${what}-${i}`)
    if (text !== undefined) writeFileSync(file, `${text}\n`)
    return file
  })
  expect(upstreamDnsServers(files)).toEqual(expected)
})

it('resolv.conf for pods keeps the domains and options of the machine', () => {
  const file = path.join(folder, 'machine')
  writeFileSync(file, '# made by hand\nnameserver 127.0.0.53\nsearch example.com\noptions edns0 trust-ad\n')
  expect(resolvConfWith(['192.0.2.1'], file)).toBe('nameserver 192.0.2.1\nsearch example.com\noptions edns0 trust-ad\n')
  expect(resolvConfWith([], path.join(folder, 'missing'))).toBe('')
})
