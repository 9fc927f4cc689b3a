import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { buildSync } from 'esbuild'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { openEmbeddedStore } from '../../src/store/embedded.ts'
import { StoreModel, verifyWatch } from './store-model.ts'

const ROUNDS = 300
const SEGMENT_BYTES = 1 << 15
/** The writer keeps at least this much history; a watch may resume from anywhere in it. */
const KEPT = 100

const scratch = mkdtempSync(join(tmpdir(), 'sampan-crash-'))
const writer = join(scratch, 'writer.mjs')

beforeAll(() => {
  const entry = fileURLToPath(new URL('store-crash-writer.ts', import.meta.url))
  // The model's checks use vitest, which the writer never calls.
  const external = ['vitest']
  buildSync({
    entryPoints: [entry],
    outfile: writer,
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    external,
    alias: { vitest: 'node:assert' },
  })
})
afterAll(() => rmSync(scratch, { recursive: true }))

/** Runs a writer until it is killed at some moment; returns the newest revision it acknowledged. */
async function crashOnce(directory: string, round: number): Promise<number> {
  const child = spawn(process.execPath, [writer, directory, String(SEGMENT_BYTES)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let output = ''
  const opened = new Promise<void>((resolve) => {
    child.stdout.on('data', (chunk) => {
      output += chunk
      resolve()
    })
    child.on('close', () => resolve())
  })
  // Every tenth writer is killed while it starts and recovers, the others at work.
  if (round % 10 !== 9) await opened
  await sleep(Math.random() * (round % 10 === 9 ? 120 : 80))
  await killed(child)
  const complete = output.slice(0, output.lastIndexOf('\n') + 1)
  return Math.max(0, ...complete.split('\n').map((line) => Number(line.replace('open ', ''))))
}

function killed(child: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    child.on('close', (_code, signal) => {
      if (signal === 'SIGKILL') resolve()
      else reject(new Error('the writer ended by itself'))
    })
    child.kill('SIGKILL')
  })
}

it(`loses nothing in ${ROUNDS} kills`, { timeout: 600_000 }, async () => {
  const directory = join(scratch, 'store')
  const model = new StoreModel()
  let commits = 0
  for (let round = 0; round < ROUNDS; round++) {
    const acknowledged = await crashOnce(directory, round)
    const store = await openEmbeddedStore({ directory, segmentBytes: SEGMENT_BYTES })
    const revision = await store.revision()
    expect(revision, `round ${round}: an acknowledged commit is lost`).toBeGreaterThanOrEqual(acknowledged)
    const remembered = Math.max(1, Math.min(model.revision, revision), revision - KEPT)
    commits += revision - model.revision
    await model.verifyState(store)
    await verifyWatch(store, remembered)
    await store[Symbol.asyncDispose]()
  }
  console.log(`${ROUNDS} kills, ${commits} commits`)
  expect(commits).toBeGreaterThan(ROUNDS)
})
