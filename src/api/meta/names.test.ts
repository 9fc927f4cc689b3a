import { describe, expect, test } from 'vitest'
import * as ip from './ip-validation.ts'
import * as names from './names.ts'

const label =
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
const subdomain =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
const qualified =
  "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
const labelValue =
  "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"

type Check = (value: string) => string[]
const rows: [string, Check, string, string[]][] = [
  ['label', names.isDns1123Label, 'a', []],
  ['label', names.isDns1123Label, '0-a', []],
  ['label', names.isDns1123Label, 'A', [label]],
  ['label', names.isDns1123Label, '-a', [label]],
  ['label', names.isDns1123Label, '', [label]],
  ['label', names.isDns1123Label, 'a.b', ['must not contain dots']],
  ['label', names.isDns1123Label, 'a'.repeat(63), []],
  ['label', names.isDns1123Label, 'a'.repeat(64), ['must be no more than 63 bytes']],
  ['subdomain', names.isDns1123Subdomain, 'a.b-c.d', []],
  ['subdomain', names.isDns1123Subdomain, 'a..b', [subdomain]],
  ['subdomain', names.isDns1123Subdomain, 'a_b', [subdomain]],
  ['subdomain', names.isDns1123Subdomain, 'a\n', [subdomain]],
  ['subdomain', names.isDns1123Subdomain, '', [subdomain]],
  ['subdomain', names.isDns1123Subdomain, 'Ä'.repeat(127), ['must be no more than 253 bytes', subdomain]],
  ['underscore', names.isDns1123SubdomainWithUnderscore, '_a.b', []],
  ['1035', names.isDns1035Label, 'a1', []],
  ['1035', names.isDns1035Label, '1a', [expect.stringContaining('a DNS-1035 label must consist of')]],
  ['wildcard', names.isWildcardDns1123Subdomain, '*.a.b', []],
  ['wildcard', names.isWildcardDns1123Subdomain, '*.*.b', [expect.stringContaining("must start with '*.'")]],
  ['qualified', names.isQualifiedName, 'a', []],
  ['qualified', names.isQualifiedName, 'a.b/C_d', []],
  ['qualified', names.isQualifiedName, '', ['name part must be non-empty', `name part ${qualified}`]],
  ['qualified', names.isQualifiedName, '/a', ['prefix part must be non-empty']],
  ['qualified', names.isQualifiedName, 'A/a', [`prefix part ${subdomain}`]],
  [
    'qualified',
    names.isQualifiedName,
    'a/b/c',
    [
      expect.stringMatching(
        /^a qualified name must consist .* with an optional DNS subdomain prefix and '\/' \(e\.g\. 'example\.com\/MyName'\)$/,
      ),
    ],
  ],
  ['qualified', names.isQualifiedName, `x/${'a'.repeat(64)}`, ['name part must be no more than 63 bytes']],
  ['label value', names.isLabelValue, '', []],
  ['label value', names.isLabelValue, 'A_b.c', []],
  ['label value', names.isLabelValue, '-a', [labelValue]],
  ['C', names.isCIdentifier, '_a1', []],
  ['C', names.isCIdentifier, '1a', [expect.stringContaining('a valid C identifier')]],
  ['config key', names.isConfigMapKey, 'a.B_c-d', []],
  ['config key', names.isConfigMapKey, '.', ["must not be '.'"]],
  ['config key', names.isConfigMapKey, '..', ["must not be '..'"]],
  ['config key', names.isConfigMapKey, '..a', ["must not start with '..'"]],
  ['config key', names.isConfigMapKey, 'a/b', [expect.stringContaining('a valid config key must consist')]],
  ['config key', names.isConfigMapKey, 'a'.repeat(254), ['must be no more than 253 bytes']],
  ['env', names.isEnvVarName, 'A.b-1', []],
  ['env', names.isEnvVarName, '1A', [expect.stringContaining('must not start with a digit')]],
  ['relaxed env', names.isRelaxedEnvVarName, '1 A!', []],
  ['relaxed env', names.isRelaxedEnvVarName, 'a=b', [expect.stringContaining("other than '='")]],
  ['relaxed env', names.isRelaxedEnvVarName, '', [expect.stringContaining("other than '='")]],
  ['header', names.isHttpHeaderName, 'X-A', []],
  ['header', names.isHttpHeaderName, 'X A', [expect.stringContaining('a valid HTTP header must consist')]],
  ['percent', names.isPercent, '10%', []],
  ['percent', names.isPercent, '-1%', [expect.stringContaining('a valid percent string')]],
  ['port name', names.isPortName, 'http-2', []],
  ['port name', names.isPortName, '80', ['must contain at least one letter (a-z)']],
  ['port name', names.isPortName, 'a--b', ['must not contain consecutive hyphens']],
  ['port name', names.isPortName, '-a', ['must not begin or end with a hyphen']],
  ['port name', names.isPortName, 'sixteen-chars-xx', ['must be no more than 15 bytes']],
  [
    'port name',
    names.isPortName,
    '',
    [
      'must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)',
      'must contain at least one letter (a-z)',
    ],
  ],
  ['ip', ip.isIpAddress, '10.0.0.1', []],
  ['ip', ip.isIpAddress, '2001:db8::1', []],
  ['ip', ip.isIpAddress, '10.0.0', ['must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)']],
  ['ip', ip.isIpAddress, 'fe80::1%eth0', ['must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)']],
  ['ip', ip.isIpAddress, '010.0.0.1', ['must not have leading 0s']],
  ['ip', ip.isIpAddress, '::ffff:1.2.3.4', ['must not be an IPv4-mapped IPv6 address']],
  ['ip', ip.isIpAddress, '::ffff:102:304', ['must not be an IPv4-mapped IPv6 address']],
  ['ip', ip.isIpAddress, '::ffff', []],
  ['cidr', ip.isCidr, '10.0.0.0/8', []],
  ['cidr', ip.isCidr, '2001:db8::/64', []],
  ['cidr', ip.isCidr, '10.0.0.0', ['must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)']],
  ['cidr', ip.isCidr, '10.0.0.0/33', ['must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)']],
  ['cidr', ip.isCidr, '10.0.0.0/08', ['must not have leading 0s in IP or prefix length']],
]

describe('checks', () => {
  test.each(rows)('%s #%#', (_, check, value, errors) => {
    expect(check(value)).toEqual(errors)
  })

  test('numbers', () => {
    expect(names.isPortNumber(1)).toEqual([])
    expect(names.isPortNumber(0)).toEqual(['must be between 1 and 65535, inclusive'])
    expect(names.isUserId(-1)).toEqual(['must be between 0 and 2147483647, inclusive'])
  })
})

describe('name checks', () => {
  test.each([
    [names.nameIsDnsSubdomain, 'web-', true, 0],
    [names.nameIsDnsSubdomain, 'web-', false, 1],
    [names.nameIsDnsSubdomain, 'web.-', true, 0],
    [names.nameIsDnsSubdomain, '-', true, 1],
    [names.nameIsDnsLabel, 'a.b', false, 1],
    [names.nameIsDns1035Label, '1-', true, 0],
    [names.isPathSegmentName, 'system:node', false, 0],
    [names.isPathSegmentName, '..', false, 1],
    [names.isPathSegmentName, 'a/b%c', false, 2],
  ])('%# %s', (check, name, isPrefix, errors) => {
    expect(check(name, isPrefix)).toHaveLength(errors)
  })

  test('of a name of a megabyte only its length is told', () => {
    const hostile = `${'a-'.repeat(500_000)}!`
    expect(names.isDns1123Subdomain(hostile)).toEqual(['must be no more than 253 bytes'])
    expect(names.isQualifiedName(hostile)).toEqual(['name part must be no more than 63 bytes'])
    expect(names.isCIdentifier(hostile)).toHaveLength(1)
  })
})
