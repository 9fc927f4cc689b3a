import { loadProgram } from './load-program.ts'

const { program, keepCompiled } = loadProgram('node')
await program.runNode(keepCompiled)
