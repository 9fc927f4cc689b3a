import { setFlagsFromString } from 'node:v8'

/** A server that keeps many objects would let its heap grow to several times their size before collecting. */
export const setHeapGrowth = () => setFlagsFromString('--heap-growing-percent=80')
