import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { systemClock } from '../base/clock.ts'
import {
  connectionOf,
  editKubeconfig,
  type Kubeconfig,
  kubeconfigPaths,
  loadKubeconfig,
  mergeKubeconfig,
  withoutContext,
} from './kubeconfig.ts'

let dir: string
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'sampan-kubeconfig-'))
})
afterEach(() => rmSync(dir, { recursive: true, force: true }))

const entry = (name: string, server = `https://${name}`): Kubeconfig => ({
  clusters: [{ name, cluster: { server } }],
  users: [{ name, user: { token: name } }],
  contexts: [{ name, context: { cluster: name, user: name } }],
  'current-context': name,
})
const names = (config: Kubeconfig) => config.contexts?.map((context) => context.name)

test.each([
  [{ KUBECONFIG: '/a:/b' }, ['/a', '/b']],
  [{ KUBECONFIG: ':/a:' }, ['/a']],
  [{ HOME: '/home/x' }, ['/home/x/.kube/config']],
  [{ KUBECONFIG: '', HOME: '/home/x' }, ['/home/x/.kube/config']],
])('paths of %o', (environment, paths) => expect(kubeconfigPaths(environment)).toEqual(paths))

test('merging replaces what has the same name, keeps the rest, and switches the context', () => {
  const merged = mergeKubeconfig(
    mergeKubeconfig(entry('mine'), entry('sampan', 'https://old')),
    entry('sampan', 'https://new'),
  )
  expect(names(merged)).toEqual(['mine', 'sampan'])
  expect(merged['current-context']).toBe('sampan')
  expect(merged.clusters!.map((c) => c.cluster!.server)).toEqual(['https://mine', 'https://new'])
})

test('removing leaves others alone, and the current context if it is another', () => {
  const config = mergeKubeconfig(entry('sampan'), entry('mine'))
  expect(names(withoutContext(config, 'sampan')!)).toEqual(['mine'])
  expect(withoutContext(config, 'sampan')!['current-context']).toBe('mine')
  expect(withoutContext(config, 'mine')!['current-context']).toBe('')
  expect(withoutContext(config, 'absent')).toBeUndefined()
})

test('the first file that names a thing wins', async () => {
  const [a, b] = [join(dir, 'a'), join(dir, 'b')]
  writeFileSync(a, JSON.stringify(entry('x', 'https://first')))
  writeFileSync(b, JSON.stringify(mergeKubeconfig(entry('x', 'https://second'), entry('y'))))
  const config = await loadKubeconfig([a, join(dir, 'missing'), b])
  expect(names(config)).toEqual(['x', 'y'])
  expect(config['current-context']).toBe('x')
  expect((await connectionOf(config)).server).toBe('https://first')
})

test('an edit keeps unknown fields, is private, and leaves no lock or temporary file', async () => {
  const path = join(dir, 'deep', 'config')
  await editKubeconfig(path, systemClock, () => ({ ...entry('mine'), preferences: { colors: true } }) as Kubeconfig)
  await editKubeconfig(path, systemClock, (config) => mergeKubeconfig(config, entry('sampan')))
  expect(readFileSync(path, 'utf8')).toContain('colors: true')
  expect(statSync(path).mode & 0o777).toBe(0o600)
  expect(names(await loadKubeconfig([path]))).toEqual(['mine', 'sampan'])
  expect(existsSync(`${path}.lock`)).toBe(false)
})

test('concurrent edits all survive', async () => {
  const path = join(dir, 'config')
  const all = Array.from({ length: 10 }, (_, i) => `c${i}`)
  await Promise.all(
    all.map((name) => editKubeconfig(path, systemClock, (config) => mergeKubeconfig(config, entry(name)))),
  )
  expect(names(await loadKubeconfig([path]))!.toSorted()).toEqual(all)
})

test('a lock left by the dead is taken over; a file that is no kubeconfig is left as it was', async () => {
  const path = join(dir, 'config')
  writeFileSync(`${path}.lock`, '')
  utimesSync(`${path}.lock`, 1000, 1000)
  writeFileSync(path, 'contexts: {a: 1}')
  await expect(editKubeconfig(path, systemClock, (config) => config)).rejects.toThrow('contexts is not a list')
  expect(readFileSync(path, 'utf8')).toBe('contexts: {a: 1}')
  expect(existsSync(`${path}.lock`)).toBe(false)
})

test('a connection reads files relative to the kubeconfig', async () => {
  const path = join(dir, 'config')
  writeFileSync(join(dir, 'ca.crt'), 'CA')
  const config = entry('x')
  config.clusters![0]!.cluster!['certificate-authority'] = 'ca.crt'
  config.users![0]!.user = { 'client-key-data': Buffer.from('KEY').toString('base64') }
  config.contexts![0]!.context!.namespace = 'here'
  writeFileSync(path, JSON.stringify(config))
  const loaded = await loadKubeconfig([path])
  expect(await connectionOf(loaded)).toEqual({ server: 'https://x', namespace: 'here', ca: 'CA', key: 'KEY' })
  await expect(connectionOf(loaded, 'absent')).rejects.toThrow('there is no context "absent"')
})
