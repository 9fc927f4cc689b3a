import { expect, test } from 'vitest'
import { deviceNumbers, deviceRules } from './devices.ts'

test.each([
  [0x103n, 1, 3],
  [0xaedn, 10, 237],
  [0x10000800n, 8, 0x10000],
  [0xfffffn, 0xfff, 0xff],
])('device 0x%x', (rdev, major, minor) => {
  expect(deviceNumbers(rdev)).toEqual({ major, minor })
})

test('a device that the pod was given is allowed as far as it says', () => {
  const device = (hostPath: string, permissions: string) => ({ hostPath, containerPath: '/dev/x', permissions })
  const rules = deviceRules([device('/dev/null', 'r'), device('/dev/zero', 'mrwx'), device('/no/such', 'rwm')])
  expect(rules.slice(-2)).toEqual([
    { type: 'c', major: 1, minor: 3, access: 'r' },
    { type: 'c', major: 1, minor: 5, access: 'rwm' },
  ])
})
