import { expect, test } from 'vitest'
import { containerConfig } from '../pod-configs.contract.ts'
import { CAPABILITIES, capabilitiesOf, capabilityMask, DEFAULT_CAPABILITIES } from './capabilities.ts'
import { stopSignal } from './stop-signal.ts'

const ALL = CAPABILITIES.length

test.each<[readonly string[], readonly string[], number, readonly string[]]>([
  [[], [], DEFAULT_CAPABILITIES.length, ['CHOWN', 'KILL']],
  [['NET_ADMIN'], [], DEFAULT_CAPABILITIES.length + 1, ['NET_ADMIN']],
  [['CAP_NET_ADMIN'], ['ALL'], 1, ['NET_ADMIN']],
  [[], ['ALL'], 0, []],
  [['ALL'], [], ALL, ['SYS_ADMIN']],
  [['ALL'], ['SYS_ADMIN'], ALL - 1, ['BPF']],
  [['MADE_UP'], ['ALL'], 0, []],
  [[], ['kill'], DEFAULT_CAPABILITIES.length - 1, ['CHOWN']],
])('add %j, drop %j', (addCapabilities, dropCapabilities, count, some) => {
  const image = { imageId: '', image: '' }
  const { security } = containerConfig(image, [], { security: { addCapabilities, dropCapabilities } })
  const capabilities = capabilitiesOf(security)
  expect(capabilities).toHaveLength(count)
  expect(capabilities).toEqual(expect.arrayContaining([...some]))
})

test('the numbers are the kernel’s', () => {
  expect(capabilityMask(['CHOWN', 'SYS_ADMIN', 'CHECKPOINT_RESTORE'])).toBe(1n | (1n << 21n) | (1n << 40n))
  expect(capabilityMask(DEFAULT_CAPABILITIES)).toBe(0xa80425fbn)
})

test.each([
  ['', 15],
  ['SIGUSR1', 10],
  ['usr1', 10],
  ['9', 9],
  ['SIGRTMIN+3', 37],
  ['RTMAX-1', 63],
  ['NONSENSE', 15],
  ['999', 15],
])('stop signal %j is %i', (name, number) => {
  expect(stopSignal(name)).toBe(number)
})
