import { expect, it } from 'vitest'
import { pluginsWithoutControllers } from './admission-without-controllers.ts'

it.each<[controllers: boolean | string[], expected: string[]]>([
  [true, []],
  [false, ['ServiceAccount', 'StorageObjectInUseProtection']],
  [['serviceaccount-controller', 'job-controller'], ['StorageObjectInUseProtection']],
  [['serviceaccount-controller', 'persistentvolume-protection-controller'], ['StorageObjectInUseProtection']],
])('with the controllers %j the plugins %j are left out', (controllers, expected) => {
  expect(pluginsWithoutControllers({ controllers })).toEqual(expected)
})
