import assert from 'node:assert'
import { isIP } from 'node:net'
import {
  formatCIDR,
  formatIP,
  parseCIDR,
  parseIP,
  parseSloppyCIDR,
  parseSloppyIP,
} from '../../../src/base/ip-address.ts'
import type { FuzzTarget } from '../engine/target.ts'

/** Addresses and CIDRs. */
export const target: FuzzTarget = {
  steps: { fixed: 3000, perByte: 200 },
  maxBytes: 256,
  dictionary: [
    '::',
    ':',
    '.',
    '/',
    '::ffff:',
    '10.0.0.',
    '255',
    '256',
    '0x',
    '00',
    '/128',
    '/33',
    'fe80::1%eth0',
    'ffff',
  ],
  run(input) {
    const text = input.toString()
    const ip = parseIP(text)
    const zone = text.includes('%')
    if (!zone)
      assert.strictEqual(ip !== undefined, isIP(text) !== 0, `node:net disagrees about ${JSON.stringify(text)}`)
    if (ip) assert.deepStrictEqual(parseIP(formatIP(ip)), ip)
    const cidr = parseCIDR(text)
    if (cidr) assert.strictEqual(formatCIDR(parseCIDR(formatCIDR(cidr))!), formatCIDR(cidr))
    return { ip, cidr, sloppy: parseSloppyIP(text), sloppyCidr: parseSloppyCIDR(text) }
  },
}
