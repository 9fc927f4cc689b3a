#!/usr/bin/env node
import module from 'node:module'
import { fileURLToPath } from 'node:url'

// Node 22.1 and later keep compiled code between starts; the rest of the program is loaded after this.
const { enableCompileCache } = module as { enableCompileCache?: () => void }
enableCompileCache?.()
const { runCli } = await import('../cli/main.ts')
await runCli(process.argv, fileURLToPath(new URL('./sampan-server.js', import.meta.url)))
