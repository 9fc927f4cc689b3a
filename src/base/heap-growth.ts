import { setFlagsFromString } from 'node:v8'

/** A server that keeps many objects would let its heap grow to twice their size before collecting; memory is dearer. */
export const setHeapGrowth = () => setFlagsFromString('--heap-growing-percent=40')
