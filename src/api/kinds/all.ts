import type { Kind } from '../kind.ts'
import { networkKinds } from './network-kinds.ts'
import { platformKinds } from './platform-kinds.ts'
import { workloadKinds } from './workload-kinds.ts'

/** Every kind that is built in. */
export const builtinKinds: readonly Kind[] = [...platformKinds, ...workloadKinds, ...networkKinds]
