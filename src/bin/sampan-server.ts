import module from 'node:module'

// Node 22.1 and later keep compiled code between starts; the rest of the program is loaded after this.
const { enableCompileCache } = module as { enableCompileCache?: () => void }
enableCompileCache?.()
const { runDetachedServer } = await import('../cli/detached-server.ts')
await runDetachedServer()
