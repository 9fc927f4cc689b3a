import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { startTestCluster, type TestCluster } from '../tools/cluster.ts'
import { at, listAt } from '../tools/json.ts'
import { expectStatus, useCluster } from '../tools/use-cluster.ts'

/** The command line tool as a user has it: built, in a process, in a home of its own. */

const CONFIG_MAPS = '/api/v1/namespaces/default/configmaps'
const server = useCluster('cli', { store: 'embedded' })
const names = async (cluster: TestCluster) =>
  listAt((await cluster.api.get(CONFIG_MAPS)).object, 'items').map((item) => at(item, 'metadata.name'))

describe('up', () => {
  test('says what runs and what to try', () => {
    expect(server.cluster.greeting).toMatch(/up in \d+ ms/)
    expect(server.cluster.greeting).toContain(server.api.server)
    expect(server.cluster.greeting).toContain('kubectl')
  })

  test('writes a kubeconfig for its owner alone', () => {
    expect(statSync(server.cluster.kubeconfig).mode & 0o077).toBe(0)
    const config = parse(readFileSync(server.cluster.kubeconfig, 'utf8')) as unknown
    expect(at(config, 'current-context')).toBe('sampan-test')
  })

  test('a second one finds the first', async () => {
    const { folder, kubeconfig } = server.cluster
    const pids = server.cluster.pids()
    const again = await server.cluster.sampan(
      'up',
      '--detach',
      '--name',
      'test',
      '--data-dir',
      path.join(folder, 'data'),
      '--kubeconfig',
      kubeconfig,
    )
    expect(again.code).toBe(0)
    expect(again.stdout).toContain('already')
    expect(server.cluster.pids()).toEqual(pids)
  })

  test('a busy port gets an answer that says what to do', async () => {
    const blocker = createServer().listen(0, '127.0.0.1')
    await new Promise((resolve) => blocker.once('listening', resolve))
    const { port } = blocker.address() as { port: number }
    const folder = path.join(server.cluster.folder, 'busy')
    const ran = await server.cluster.sampan(
      'up',
      '--detach',
      '--name',
      'busy',
      '--data-dir',
      folder,
      '--api-port',
      String(port),
    )
    blocker.close()
    expect(ran.code).not.toBe(0)
    expect(ran.stderr).toContain(String(port))
    expect(ran.stderr).toContain('--api-port')
  })

  test.each([
    [['up', '--detatch'], /--detach/],
    [['upp'], /up/],
    [['up', '--store', 'paper'], /embedded/],
    [['up', '--api-port', 'high'], /port/i],
    [['up', '--name', 'Not A Name'], /name/i],
    [['get'], /what/i],
    [['snapshot', 'save'], /file/i],
  ])('sampan %j explains itself', async (args, hint) => {
    const ran = await server.cluster.sampan(...args)
    expect(ran.code).not.toBe(0)
    expect(ran.stderr).toMatch(hint)
    expect(ran.stderr).not.toMatch(/\n {4}at /)
  })
})

describe('status and logs', () => {
  test('of a cluster that runs, and of one that does not', async () => {
    const data = path.join(server.cluster.folder, 'data')
    const running = await server.cluster.sampan('status', '--name', 'test', '--data-dir', data)
    expect([running.code, running.stdout]).toEqual([0, expect.stringContaining('running')])
    const none = await server.cluster.sampan('status', '--name', 'none', '--data-dir', path.join(data, 'none'))
    expect(none.code).toBe(3)
    const logs = await server.cluster.sampan('logs', '--name', 'test', '--data-dir', data)
    expect(logs.code).toBe(0)
  })
})

describe('without kubectl', () => {
  const sampan = (...args: string[]) => server.cluster.sampan(...args, '--kubeconfig', server.cluster.kubeconfig)

  test('apply, get, describe, delete', async () => {
    const file = path.join(server.cluster.folder, 'app.yaml')
    writeFileSync(file, 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: boat}\ndata: {colour: red}\n')
    expect(await sampan('apply', '-f', file)).toMatchObject({ code: 0, stdout: expect.stringContaining('boat') })
    expect((await sampan('get', 'configmaps')).stdout).toMatch(/^NAME +DATA +AGE\n(.*\n)*boat +1 /m)
    expect((await sampan('get', 'cm', 'boat', '-o', 'yaml')).stdout).toContain('colour: red')
    expect(JSON.parse((await sampan('get', 'cm/boat', '-o', 'json')).stdout)).toMatchObject({ kind: 'ConfigMap' })
    expect((await sampan('describe', 'cm', 'boat')).stdout).toContain('boat')
    expect((await sampan('delete', 'cm', 'boat')).code).toBe(0)
    const gone = await sampan('get', 'cm', 'boat')
    expect([gone.code, gone.stderr]).toEqual([1, expect.stringContaining('not found')])
  })

  test.each(['bash', 'zsh', 'fish'])('completion for %s', async (shell) => {
    const ran = await server.cluster.sampan('completion', shell)
    expect([ran.code, ran.stdout]).toEqual([0, expect.stringContaining('sampan')])
  })
})

describe('state', () => {
  test('survives a restart and kill -9', async () => {
    await using cluster = await startTestCluster()
    expectStatus(await cluster.api.create(CONFIG_MAPS, { metadata: { name: 'kept' } }), 201)
    await cluster.stop()
    const second = await startTestCluster({ folder: cluster.folder })
    expect(await names(second)).toContain('kept')
    expectStatus(await second.api.create(CONFIG_MAPS, { metadata: { name: 'killed' } }), 201)
    for (const pid of second.pids()) process.kill(pid, 'SIGKILL')
    second.api.close()
    const third = await startTestCluster({ folder: cluster.folder })
    expect(await names(third)).toEqual(expect.arrayContaining(['kept', 'killed']))
    await third.stop()
  })

  test('a snapshot brings a cluster back', async () => {
    await using cluster = await startTestCluster()
    const data = path.join(cluster.folder, 'data')
    const file = path.join(cluster.folder, 'snapshot.sampan')
    const of = ['--name', 'test', '--data-dir', data]
    expectStatus(await cluster.api.create(CONFIG_MAPS, { metadata: { name: 'before' } }), 201)
    expect(await cluster.sampan('snapshot', 'save', file, ...of)).toMatchObject({ code: 0 })
    expectStatus(await cluster.api.create(CONFIG_MAPS, { metadata: { name: 'after' } }), 201)
    const refused = await cluster.sampan('snapshot', 'restore', file, ...of)
    expect(refused.code).not.toBe(0)
    await cluster.stop()
    expect((await cluster.sampan('down', ...of, '--delete')).code).toBe(0)
    expect(await cluster.sampan('snapshot', 'restore', file, ...of)).toMatchObject({ code: 0 })
    const restored = await startTestCluster({ folder: cluster.folder })
    const found = await names(restored)
    expect(found).toContain('before')
    expect(found).not.toContain('after')
    await restored.stop()
  })
})
