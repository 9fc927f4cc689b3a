/** Fuzzes targets for as long as asked. Run it with `npm run fuzz`. */
import { createHash } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { parseArgs } from 'node:util'
import { readInputs, runTarget } from './engine/run-target.ts'
import { TARGETS } from './targets.ts'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    modules: { type: 'string', default: '' },
    seconds: { type: 'string', default: '60' },
    seed: { type: 'string', default: String(process.pid) },
  },
})
const names = positionals.length > 0 ? positionals : TARGETS
const GROWN = path.join('.cache', 'fuzz', 'corpus')
let failures = 0
for (const name of names) await fuzz(name)
process.exitCode = failures > 0 ? 1 : 0

async function fuzz(name: string): Promise<void> {
  const seeds = [...readInputs(path.join('tests', 'fuzz', 'corpus', name)), ...readInputs(path.join(GROWN, name))]
  const { modules, seconds, seed } = values
  const result = await runTarget(name, { modules, seeds, seconds: Number(seconds), randomSeed: Number(seed) })
  if ('failure' in result) {
    failures++
    const file = keep(path.join('.cache', 'fuzz', 'failures'), `${name}-${hashOf(result.input)}`, result.input)
    console.error(`✗ ${name}: ${result.failure}\n  the input is in ${file}`)
    return
  }
  const { executions, corpus } = result
  for (const input of corpus.slice(seeds.length)) keep(path.join(GROWN, name), hashOf(input), input)
  console.log(`✓ ${name}: ${executions} inputs, ${corpus.length - seeds.length} of them reached new code`)
}

function hashOf(input: Uint8Array): string {
  return createHash('sha256').update(input).digest('hex').slice(0, 16)
}

function keep(folder: string, name: string, input: Uint8Array): string {
  mkdirSync(folder, { recursive: true })
  const file = path.join(folder, name)
  writeFileSync(file, input)
  return file
}
