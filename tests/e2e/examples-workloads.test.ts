import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { startCluster, type TestCluster } from '../../src/testing/index.ts'
import { KUBECTL_VERSIONS, kubectl, kubectlRunsHere } from '../tools/kubectl.ts'

const EXAMPLES = path.resolve(import.meta.dirname, '..', '..', 'examples')

/** The commands of a README, in their order. */
const commandsOf = (example: string) =>
  [...readFileSync(path.join(EXAMPLES, example, 'README.md'), 'utf8').matchAll(/^```sh\n([\s\S]*?)^```/gm)]
    .map(([, block]) => block)
    .join('')

describe.runIf(kubectlRunsHere)('the commands of the README', () => {
  let cluster: TestCluster | undefined
  const folder = mkdtempSync(path.join(tmpdir(), 'sampan-examples-'))
  afterEach(async () => {
    await cluster?.dispose()
    rmSync(folder, { recursive: true, force: true })
  })

  /** Time goes fifty times as fast as for kubectl, so that nobody waits five minutes for an autoscaler. */
  async function run(example: string): Promise<string> {
    cluster = await startCluster({ nodes: 4, time: 'standing' })
    mkdirSync(folder, { recursive: true })
    symlinkSync(await kubectl(KUBECTL_VERSIONS.at(-1)!), path.join(folder, 'kubectl'))
    const env = {
      ...process.env,
      HOME: folder,
      KUBECONFIG: path.join(folder, 'config'),
      PATH: `${folder}:${process.env.PATH}`,
    }
    writeFileSync(env.KUBECONFIG, await cluster.kubeconfig)
    let isOver = false
    const running = new Promise<string>((resolve, reject) => {
      execFile(
        '/bin/sh',
        ['-ec', commandsOf(example)],
        { env, cwd: path.join(EXAMPLES, example) },
        (error, stdout, stderr) => {
          isOver = true
          if (error) reject(new Error(`${error.message}\n${stdout}${stderr}`))
          else resolve(stdout)
        },
      )
    })
    running.catch(() => {})
    while (!isOver) {
      await cluster.clock.advance('1s')
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
    return running
  }

  test.each([
    ['guestbook', [/deployment "frontend" successfully rolled out/, /^2 +/m, /deployment.apps "leader".* deleted/]],
    [
      'cassandra',
      [/persistentvolumeclaim\/data-cassandra-2 +Bound/, /data-cassandra-1/, /1 new pods have been updated/],
    ],
    ['work-queue', [/^0-4/m, /coarse +Complete +8\/8/, /fine +Complete +2\/1 of 2/]],
    ['disruption-budget', [/node\/node-\d drained/, /quorum +N\/A +1 +1/, /node\/node-\d uncordoned/]],
    ['autoscaling', [/Deployment\/web +cpu: \d+%\/50% +1 +10 +5/, /New size: 4.*above target/, /below target/]],
  ])('%s', async (example, expected) => {
    const printed = await run(example)
    for (const one of expected) expect(printed).toMatch(one)
  })
})

describe('the programs', () => {
  const children: ChildProcess[] = []
  const folder = mkdtempSync(path.join(tmpdir(), 'sampan-programs-'))
  afterEach(async () => {
    for (const child of children.splice(0)) {
      const ended = once(child, 'close')
      if (child.kill()) await ended
    }
    rmSync(folder, { recursive: true, force: true })
  })

  /** Starts a program of an example on a free port; gives its address. */
  async function start(file: string, env: Record<string, string> = {}): Promise<string> {
    const options = { env: { ...process.env, PORT: '0', ...env }, stdio: ['ignore', 'pipe', 'inherit'] as const }
    const child = spawn(process.execPath, [path.join(EXAMPLES, file)], { ...options, stdio: [...options.stdio] })
    children.push(child)
    const [line] = (await once(child.stdout!, 'data')) as [Buffer]
    return `http://127.0.0.1:${/\d+/.exec(String(line))?.[0]}`
  }
  const read = async (url: string) => (await fetch(url)).text()
  const finish = (file: string, args: string[], env: Record<string, string>) =>
    new Promise<string>((resolve, reject) => {
      const options = { env: { ...process.env, ...env } }
      execFile(process.execPath, [path.join(EXAMPLES, file), ...args], options, (error, stdout) =>
        error ? reject(error) : resolve(stdout),
      )
    })

  test('guestbook', async () => {
    const leader = await start('guestbook/store.mjs')
    const follower = await start('guestbook/store.mjs', { LEADER: leader })
    const frontend = await start('guestbook/frontend.mjs', { LEADER: leader, FOLLOWER: follower })
    await fetch(frontend, { method: 'POST', body: new URLSearchParams({ message: 'a <b> c' }) })
    await expect.poll(() => read(frontend), { timeout: 20_000 }).toContain('<li>a &#60;b&#62; c</li>')
    expect((await fetch(follower, { method: 'POST', body: 'x' })).status).toBe(405)
  })

  test('cassandra', async () => {
    const first = await start('cassandra/member.mjs', { NAME: 'c-0', DATA: path.join(folder, '0') })
    const second = await start('cassandra/member.mjs', {
      NAME: 'c-1',
      DATA: path.join(folder, '1'),
      SEEDS: first.slice('http://'.length),
    })
    await expect.poll(() => read(`${second}/members`), { timeout: 20_000 }).toBe('["c-0","c-1"]')
    await fetch(`${first}/boat`, { method: 'PUT', body: 'red' })
    expect(await read(`${await start('cassandra/member.mjs', { DATA: path.join(folder, '0') })}/boat`)).toBe('red')
  })

  test('work-queue', async () => {
    const QUEUE = await start('work-queue/queue.mjs', { ITEMS: 'a,b,c' })
    expect(await finish('work-queue/worker.mjs', ['one'], { QUEUE })).toBe('working on a\n')
    expect(await finish('work-queue/worker.mjs', [], { QUEUE })).toBe('working on b\nworking on c\n')
    expect(await read(QUEUE)).toBe('0\n')
  })

  test('autoscaling', async () => {
    expect(await read(await start('autoscaling/web.mjs', { WORK: '10' }))).toBe('OK 19\n')
  })
})
