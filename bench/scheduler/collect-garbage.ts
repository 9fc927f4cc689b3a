import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

setFlagsFromString('--expose-gc')
const gc = runInNewContext('gc') as () => void

/** Collects all there is, so that what is measured next pays for its own garbage only. */
export const collectGarbage = (): void => gc()
