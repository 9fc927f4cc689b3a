/** HTTP/2 as others speak it: nghttp2's tools and curl. (kubectl and helm are Go, client-node is HTTP/1.1.) */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readCredentials } from '../tools/api.ts'
import { runProgram } from '../tools/cluster.ts'
import { expectStatus, useCluster } from '../tools/use-cluster.ts'

const NAMESPACE = 'http2'
const server = useCluster(NAMESPACE)
const folder = mkdtempSync(path.join(tmpdir(), 'sampan-http2-'))
const file = (name: string) => path.join(folder, name)
const configMaps = `/api/v1/namespaces/${NAMESPACE}/configmaps`
let address = ''

beforeAll(() => {
  const credentials = readCredentials(server.cluster.kubeconfig)
  address = credentials.server
  for (const name of ['ca', 'cert', 'key'] as const) writeFileSync(file(name), credentials[name], { mode: 0o600 })
})
afterAll(() => rmSync(folder, { recursive: true }))

async function run(program: string, ...args: string[]): Promise<string> {
  const ran = await runProgram(program, args, server.cluster.env)
  if (ran.code !== 0) expect.fail(`${program} ${args.join(' ')} ended with ${ran.code}:\n${ran.stdout}${ran.stderr}`)
  return ran.stdout
}

const nghttp = (where: string, ...args: string[]) =>
  run('nghttp', `--cert=${file('cert')}`, `--key=${file('key')}`, '--no-verify-peer', ...args, address + where)
const curl = (where: string, ...args: string[]) =>
  run('curl', '-sS', '--cacert', file('ca'), '--cert', file('cert'), '--key', file('key'), ...args, address + where)

/** Created by one client, read by the others. */
async function create(name: string, size: number): Promise<string> {
  const data = { value: 'x'.repeat(size) }
  expectStatus(await server.api.create(configMaps, { metadata: { name }, data }), 201)
  return `${configMaps}/${name}`
}

describe('nghttp', () => {
  test.each<[string, string[]]>([
    ['as it comes', []],
    ['windows of a kilobyte', ['--window-bits=10', '--connection-window-bits=16']],
    ['headers in several frames', ['--continuation']],
    ['no table of headers', ['--header-table-size=0']],
    ['padded frames', ['--padding=200']],
    ['no priorities', ['--no-dep']],
  ])('reads a large object: %s', async (name, args) => {
    const where = await create(name.replaceAll(/[^a-z]/g, '-'), 500_000)
    expect(JSON.parse(await nghttp(where, ...args)).data.value).toHaveLength(500_000)
  })

  test('a hundred requests at once, of which some wait', async () => {
    const where = await create('multiplied', 10)
    const answers = await nghttp(where, '--multiply=150')
    expect(answers.match(/"name":"multiplied"/g)).toHaveLength(150)
  })

  test('creates, with padding and a trailer, asking first', async () => {
    const object = {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'posted' },
      data: { a: 'b'.repeat(100_000) },
    }
    writeFileSync(file('object'), JSON.stringify(object))
    const data = [
      '-H:method: POST',
      '-Hcontent-type: application/json',
      '--trailer=check: sum',
      `--data=${file('object')}`,
    ]
    expect(JSON.parse(await nghttp(configMaps, '--padding=100', '--expect-continue', ...data)).metadata.uid).toMatch(
      /-/,
    )
  })
})

describe('h2load', () => {
  test.each([[[]], [['--header-table-size=0']], [['--window-bits=10', '--connection-window-bits=16']]])(
    'thousands of requests are answered, %j',
    async (flags: string[]) => {
      const load = ['--requests=3000', '--clients=10', '--max-concurrent-streams=50', ...flags]
      const report = await run('h2load', ...load, `${address}/version`)
      expect(report).toContain('3000 succeeded, 0 failed, 0 errored, 0 timeout')
      expect(report).toContain('status codes: 3000 2xx')
    },
    60_000,
  )
})

describe('curl', () => {
  test('the same over HTTP/2 and HTTP/1.1', async () => {
    const where = await create('curled', 300_000)
    const [two, one] = [await curl(where, '--http2'), await curl(where, '--http1.1')]
    expect([two === one, JSON.parse(two).data.value.length]).toEqual([true, 300_000])
  })

  test.each(['--http2', '--http1.1'])('HEAD has no body, and a body too large is refused: %s', async (protocol) => {
    const head = await curl('/version', protocol, '--head', '--write-out', '%{http_code} %{size_download}')
    expect([head.split('\r\n')[0], head.trim().split('\n').at(-1)]).toEqual([expect.stringContaining('200'), '200 0'])
    writeFileSync(file('large'), JSON.stringify({ metadata: { name: 'large' }, data: { a: 'x'.repeat(4_000_000) } }))
    const posted = ['--data-binary', `@${file('large')}`, '-H', 'content-type: application/json', '-w', ' %{http_code}']
    expect(await curl(configMaps, protocol, ...posted)).toMatch(/"reason":"RequestEntityTooLarge".* 413$/s)
  })
})
