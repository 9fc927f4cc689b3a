import { writeSync } from 'node:fs'
import { openEmbeddedStore } from '../../src/store/embedded.ts'
import type { Revision } from '../../src/store/store.ts'
import { writesOf } from './store-model.ts'

/** Writes as fast as it can until it is killed, and tells each acknowledged revision on its standard output. */
const [, , directory = '', segmentBytes = ''] = process.argv
const WRITERS = 8
const KEPT = 150

const store = await openEmbeddedStore({ directory, segmentBytes: Number(segmentBytes), checkpointBytes: 1 << 16 })
let next = (await store.revision()) + 1
writeSync(1, `open ${next - 1}\n`)

async function commitNext(): Promise<void> {
  const expected: Revision = next++
  const revision = await store.commit([], writesOf(expected))
  if (revision !== expected) throw new Error(`revision ${revision} instead of ${expected}`)
  writeSync(1, `${revision}\n`)
  if (revision % 50 === 0) void store.compact(Math.max(1, revision - KEPT))
}

await Promise.all(
  Array.from({ length: WRITERS }, async () => {
    for (;;) await commitNext()
  }),
)
