import { execFileSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { completionScript } from './commands/completion.ts'
import { createProgram } from './main.ts'

test('every command explains itself', () => {
  for (const command of createProgram('').commands) {
    expect(command.description(), command.name()).not.toBe('')
    for (const option of command.options) expect(option.description, `${command.name()} ${option.flags}`).not.toBe('')
  }
})

test.each([
  [['up', '--store', 'sqlite'], 'is no store'],
  [['up', '--api-port', '70000'], 'must be a whole number from 0 to 65535'],
  [['up', '--nodes', 'many'], 'must be a whole number from 0 to 99999'],
  [['up', '--runtime', 'docker'], 'Allowed choices are builtin, containerd, simulated'],
  [['up', '--container-runtime-endpoint', 'tcp://10.0.0.1'], 'must be the path of a socket'],
  [['up', '--seccomp-default', 'maybe'], 'must be true or false'],
  [['up', '--pod-max-pids', '0'], 'must be a whole number from 1 to 999999999, or -1'],
  [['join', '--pod-max-pids=many'], 'must be a whole number from 1 to 999999999, or -1'],
  [['up', '--listen', 'here'], '"here" is not an IP address'],
  [['join', '--runtime', 'simulated'], 'Allowed choices are builtin, containerd.'],
  [['join', '--node-ip', '10.0.0'], 'is not an IP address'],
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

test('up rejects two runtimes', async () => {
  const words = ['up', '--data-dir', '/no/such', '--runtime', 'builtin', '--container-runtime-endpoint', 'unix:///x']
  const start = createProgram('').parseAsync(words, { from: 'user' })
  await expect(start).rejects.toThrow('exclude each other')
})

test.each(['bash', 'zsh', 'fish'] as const)('completion for %s names commands and options', (shell) => {
  const script = completionScript(shell, [
    { name: 'up', description: "it's [up]: now", options: [{ name: '--detach', description: 'in the back' }] },
  ])
  expect(script).toContain('up')
  expect(script).toContain(shell === 'fish' ? '-l detach' : '--detach')
  if (shell === 'bash') execFileSync('bash', ['-n'], { input: script })
})
