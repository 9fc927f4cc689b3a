import { readdirSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { runProgram } from '../tools/cluster.ts'

const EXAMPLES = path.resolve(import.meta.dirname, '..', '..', 'examples')

/** What each must print; an example without an entry fails. */
const OUTPUT: Readonly<Record<string, string>> = {
  '01-start-a-cluster.mjs': 'boat is red\n',
  '02-watch.mjs': 'ADDED password\nDELETED password\n',
  '03-kubeconfig.mjs': 'serving https://\ncurrent-context: "example"\n',
}

test.each(readdirSync(EXAMPLES).filter((name) => name.endsWith('.mjs')))('%s', async (name) => {
  const ran = await runProgram(process.execPath, [path.join(EXAMPLES, name)], process.env)
  expect(ran).toEqual({ code: 0, stderr: '', stdout: OUTPUT[name] })
})

const TESTING = path.join(EXAMPLES, 'testing')

test.each(readdirSync(TESTING).filter((name) => name.endsWith('.node-test.mjs')))('testing/%s', async (name) => {
  const ran = await runProgram(process.execPath, ['--test', path.join(TESTING, name)], process.env)
  expect(ran.stdout).toContain('# fail 0')
  expect(ran.code).toBe(0)
})

test('testing/*.jest-test.mjs', async () => {
  const jest = path.resolve(EXAMPLES, '..', 'node_modules', 'jest', 'bin', 'jest.js')
  const arguments_ = ['--experimental-vm-modules', jest, '--config', path.join(TESTING, 'jest.config.json'), '--ci']
  const ran = await runProgram(process.execPath, arguments_, process.env)
  expect(ran.stderr).toMatch(/Tests: +\d+ passed, \d+ total/)
  expect(ran.code).toBe(0)
})
