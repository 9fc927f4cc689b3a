import module from 'node:module'

// Node 22.1 and later keep compiled code between starts; the rest of the program is loaded after this.
const { enableCompileCache } = module as { enableCompileCache?: () => void }
enableCompileCache?.()
const { runNode } = await import('../cli/node-process.ts')
await runNode()
