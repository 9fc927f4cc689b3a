import { setHeapGrowth } from '../base/heap-growth.ts'
import { loadProgram } from './load-program.ts'

// Code is compiled for the flags that V8 has at that moment.
setHeapGrowth()
const { program, keepCompiled } = loadProgram('server')
await program.runServer(keepCompiled)
