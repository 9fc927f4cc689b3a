import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { completionScript } from './commands/completion.ts'
import { explain } from './explain.ts'
import { createProgram } from './main.ts'
import { SAMPAN_VERSION } from './version.ts'

test('the version is that of the package', () => {
  const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'))
  expect(SAMPAN_VERSION).toBe(version)
})

test('every command explains itself', () => {
  for (const command of createProgram('').commands) {
    expect(command.description(), command.name()).not.toBe('')
    for (const option of command.options) expect(option.description, `${command.name()} ${option.flags}`).not.toBe('')
  }
})

test.each([
  [['up', '--store', 'sqlite'], 'is no store'],
  [['up', '--api-port', '70000'], 'A port is a number'],
  [['up', '--nodes', 'many'], 'How many nodes'],
  [['up', '--runtime', 'docker'], 'Allowed choices are builtin, containerd, simulated'],
  [['up', '--container-runtime-endpoint', 'tcp://10.0.0.1'], 'The path of a socket'],
  [['up', '--seccomp-default', 'maybe'], 'It is true or false'],
  [['up', '--pod-max-pids', '0'], 'A number from 1 on, or -1'],
  [['join', '--pod-max-pids=many'], 'A number from 1 on, or -1'],
  [['up', '--detatch'], 'Did you mean --detach'],
  [['statsu'], 'Did you mean status'],
  [['get'], "missing required argument 'what'"],
])('sampan %o', async (words, answer) => {
  let printed = ''
  const program = createProgram('')
  const write = (text: string) => {
    printed += text
  }
  for (const command of [program, ...program.commands]) command.configureOutput({ writeErr: write, writeOut: write })
  await expect(program.parseAsync(words, { from: 'user' })).rejects.toMatchObject({ name: 'CommanderError' })
  expect(printed).toContain(answer)
})

test('one runtime is enough', async () => {
  const words = ['up', '--data-dir', '/no/such', '--runtime', 'builtin', '--container-runtime-endpoint', 'unix:///x']
  const start = createProgram('').parseAsync(words, { from: 'user' })
  await expect(start).rejects.toThrow('which of them runs pods?')
})

test.each(['bash', 'zsh', 'fish'] as const)('completion for %s names commands and options', (shell) => {
  const script = completionScript(shell, [
    { name: 'up', description: "it's [up]: now", options: [{ name: '--detach', description: 'in the back' }] },
  ])
  expect(script).toContain('up')
  expect(script).toContain(shell === 'fish' ? '-l detach' : '--detach')
  if (shell === 'bash') execFileSync('bash', ['-n'], { input: script })
})

test.each([
  ['EADDRINUSE', 'listen EADDRINUSE', 'port 6443 is taken by another program'],
  ['EACCES', 'listen EACCES', 'may not listen on port 6443'],
  ['EACCES', 'open EACCES', '/data cannot be used'],
  ['ENOSPC', 'write', 'the disk under /data is full'],
])('%s (%s)', (code, message, sentence) => {
  const error = Object.assign(new Error(message), { code })
  const explained = explain(error, { apiPort: 6443, instance: { name: 'x', context: 'x', dataDir: '/data' } })
  expect(explained.message).toContain(sentence)
  expect(explained.hints.length).toBeGreaterThan(0)
})
