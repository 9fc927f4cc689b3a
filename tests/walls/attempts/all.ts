/** Every row of the suite, by theme. */
import type { Attempt } from '../attempt.ts'
import { annotations } from './annotations.ts'
import { devices } from './devices.ts'
import { exec } from './exec.ts'
import { fields } from './fields.ts'
import { imageConfigs } from './image-configs.ts'
import { imageLayers } from './image-layers.ts'
import { imageRoots } from './image-roots.ts'
import { kernelFiles } from './kernel-files.ts'
import { leftBehind } from './left-behind.ts'
import { network } from './network.ts'
import { resources } from './resources.ts'
import { systemCalls } from './system-calls.ts'
import { volumes } from './volumes.ts'

export const ATTEMPTS: readonly Attempt[] = [
  ...systemCalls,
  ...kernelFiles,
  ...devices,
  ...imageLayers,
  ...imageRoots,
  ...imageConfigs,
  ...volumes,
  ...resources,
  ...fields,
  ...network,
  ...annotations,
  ...exec,
  ...leftBehind,
]
