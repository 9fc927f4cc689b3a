import { readdirSync } from 'node:fs'
import path from 'node:path'
import { beforeAll, expect, test } from 'vitest'
import { readInputs, runTarget } from './engine/run-target.ts'
import { TARGETS } from './targets.ts'

/**
 * Parses all inputs of the corpora, then makes new ones for a few seconds each. `npm run fuzz` does the same for longer.
 * FUZZ_SEED repeats a run, as far as time allows: faster machines try more.
 */
const SECONDS = 4
const SEED = Number(process.env.FUZZ_SEED ?? 1)
const CORPUS = path.join(import.meta.dirname, 'corpus')

let modules = ''
beforeAll(async () => {
  const tool = new URL('../../tools/fuzz.mjs', import.meta.url).href
  const { bundleFuzzer } = (await import(tool)) as { bundleFuzzer(): Promise<string> }
  modules = await bundleFuzzer()
})

test.each(TARGETS)('%s holds what its parser promises for known and for new inputs', async (name) => {
  const seeds = readInputs(path.join(CORPUS, name))
  expect(seeds.length).toBeGreaterThan(0)
  const result = await runTarget(name, { modules, seeds, seconds: SECONDS, randomSeed: SEED })
  if ('failure' in result) throw new Error(`${result.failure}\ninput: ${Buffer.from(result.input).toString('base64')}`)
  expect(result.executions).toBeGreaterThan(seeds.length)
})

test('each target has a file and a corpus, and the other way round', () => {
  const files = readdirSync(path.join(import.meta.dirname, 'targets')).map((file) => path.basename(file, '.ts'))
  expect(files.toSorted()).toEqual([...TARGETS])
  expect(readdirSync(CORPUS).toSorted()).toEqual([...TARGETS])
})
