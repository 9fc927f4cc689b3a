#!/usr/bin/env node
import { fileURLToPath } from 'node:url'
import { loadProgram } from './load-program.ts'

const { program, keepCompiled } = loadProgram('cli')
await program.runCli(process.argv, fileURLToPath(new URL('./sampan-server.js', import.meta.url)))
keepCompiled()
