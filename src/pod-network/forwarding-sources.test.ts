import { expect, it } from 'vitest'
import { parseSources, type Sources } from './forwarding-sources.ts'

it.each<[texts: string[], expected: Sources]>([
  [[], { links: [], cidrs: [] }],
  [['eth1', 'br-lan', 'wg0'], { links: ['eth1', 'br-lan', 'wg0'], cidrs: [] }],
  [['192.0.2.7', '192.0.2.0/24'], { links: [], cidrs: ['192.0.2.7/32', '192.0.2.0/24'] }],
  [['2001:db8::1', 'fd00::/8'], { links: [], cidrs: ['2001:db8::1/128', 'fd00::/8'] }],
])('reads %j', (texts, expected) => expect(parseSources(texts)).toEqual(expected))

it.each(['', '192.0.2.0/33', '192.0.2', 'a/b', 'a name', 'averyverylonglinkname', '.', '..', 'fe80::%eth0'])(
  'refuses %j',
  (text) => expect(() => parseSources([text])).toThrow('is neither a CIDR nor the name of an interface'),
)
