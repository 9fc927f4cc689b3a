import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openEmbeddedStore, openMemoryStore } from './embedded.ts'
import { storeContract } from './store.contract.ts'
import type { Store } from './store.ts'

storeContract('memory', async () => ({ store: openMemoryStore() }))

const sizes: [string, number | undefined][] = [
  ['embedded', undefined],
  ['embedded, in tiny segments', 4096],
]
for (const [name, segmentBytes] of sizes) {
  storeContract(name, async () => {
    const directory = await mkdtemp(join(tmpdir(), 'sampan-store-'))
    const open = () => openEmbeddedStore({ directory, segmentBytes, checkpointBytes: segmentBytes })
    let store: Store = await open()
    return {
      store,
      async reopen() {
        await store[Symbol.asyncDispose]()
        store = await open()
        return store
      },
      cleanUp: () => rm(directory, { recursive: true }),
    }
  })
}
