import { mkdir, readdir, readFile, stat, symlink, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Container, Pod, Volume } from '../api/generated/core-v1.ts'
import type { ContainerConfig } from '../container-runtime/container-config.ts'
import { isReady, type Workbench, workbench } from './workbench.contract.ts'

let bench: Workbench

beforeEach(async () => {
  bench = await workbench()
})

afterEach(() => bench[Symbol.asyncDispose]())

const RESOURCES: Record<string, string> = { ConfigMap: 'configmaps', Secret: 'secrets', Service: 'services' }
const objects = (kind: string) =>
  bench.client.resource({ group: '', version: 'v1', plural: RESOURCES[kind]!, namespaced: true }).namespace('default')
const make = (kind: string, name: string, more: object) =>
  objects(kind).create({ apiVersion: 'v1', kind, metadata: { name }, ...more } as never)

async function runWith(
  volume: Volume | undefined,
  container: Partial<Container> = {},
  spec: Partial<Pod['spec']> = {},
) {
  const volumeMounts = volume ? [{ name: volume.name, mountPath: '/data', ...container.volumeMounts?.[0] }] : []
  const main = { name: 'main', image: 'busybox:1', ...container, volumeMounts }
  await bench.create(
    'app',
    { ...spec, ...(volume && { volumes: [volume] }), containers: [main] },
    { labels: { a: 'b' } },
  )
}

async function configOf(name = 'main'): Promise<ContainerConfig> {
  const all = await bench.runtime.listContainers()
  return bench.runtime.configOf(all.find((one) => one.name === name)!.id)
}

const mountOf = async () => (await configOf()).mounts.find(({ containerPath }) => containerPath === '/data')!

describe('volumes', () => {
  it('of a ConfigMap follow it', async () => {
    await make('ConfigMap', 'settings', { data: { color: 'red' }, binaryData: { raw: 'AAE=' } })
    await runWith({ name: 'v', configMap: { name: 'settings', defaultMode: 0o640 } })
    await bench.untilPod('app', isReady)
    const { hostPath, readonly } = await mountOf()
    expect(readonly).toBe(true)
    expect((await readdir(hostPath)).filter((name) => !name.startsWith('..')).sort()).toEqual(['color', 'raw'])
    expect(await readFile(path.join(hostPath, 'raw'))).toEqual(Buffer.from([0, 1]))
    expect((await stat(path.join(hostPath, 'color'))).mode & 0o777).toBe(0o640)
    await objects('ConfigMap').patch('settings', { data: { color: 'blue', size: 'big' }, binaryData: null })
    await bench.until(
      async () => (await readdir(hostPath)).filter((name) => !name.startsWith('..')).sort(),
      (names) => names.join() === 'color,size',
    )
    expect(await readFile(path.join(hostPath, 'color'), 'utf8')).toBe('blue')
  })

  it('wait for what they are made of', async () => {
    await runWith({ name: 'v', secret: { secretName: 'late' } })
    await bench.untilEvent('app', 'FailedMount', 'MountVolume.SetUp failed for volume "v" : secret "late" not found')
    const pod = await bench.get('app')
    expect(pod.status?.containerStatuses?.[0]?.state?.waiting?.reason).toBe('ContainerCreating')
    await make('Secret', 'late', { data: { key: Buffer.from('value').toString('base64') } })
    await bench.untilPod('app', isReady)
    expect(await readFile(path.join((await mountOf()).hostPath, 'key'), 'utf8')).toBe('value')
  })

  it.each([
    ['emptyDir', { emptyDir: {} }, []],
    ['an optional ConfigMap that is not there', { configMap: { name: 'none', optional: true } }, []],
    [
      'the pod itself',
      { downwardAPI: { items: [{ path: 'labels', fieldRef: { fieldPath: 'metadata.labels' } }] } },
      ['labels'],
    ],
    [
      'several sources',
      {
        projected: {
          sources: [{ downwardAPI: { items: [{ path: 'a/name', fieldRef: { fieldPath: 'metadata.name' } }] } }],
        },
      },
      ['a'],
    ],
  ])('of %s', async (_, source, names) => {
    await runWith({ name: 'v', ...source })
    await bench.untilPod('app', isReady)
    expect((await readdir((await mountOf()).hostPath)).filter((name) => !name.startsWith('..'))).toEqual(names)
  })

  it('of the node are checked', async () => {
    await runWith({ name: 'v', hostPath: { path: '/nowhere/at/all', type: 'Directory' } })
    await bench.untilEvent(
      'app',
      'FailedMount',
      'MountVolume.SetUp failed for volume "v" : hostPath type check failed: /nowhere/at/all is not a directory',
    )
  })

  it('show a part of themselves, but nothing outside', async () => {
    const shared = path.join(bench.rootDir, 'shared')
    await mkdir(path.join(shared, 'inside'), { recursive: true })
    await symlink('/etc', path.join(shared, 'escape'))
    await symlink('inside', path.join(shared, 'link'))
    await writeFile(path.join(shared, 'inside', 'file'), 'x')
    const volume = { name: 'v', hostPath: { path: shared } }
    await runWith(volume, {
      volumeMounts: [{ name: 'v', mountPath: '/data', subPathExpr: '$(WHERE)' }],
      env: [{ name: 'WHERE', value: 'link/new' }],
    })
    await bench.untilPod('app', isReady)
    expect((await mountOf()).hostPath).toBe(path.join(shared, 'inside', 'new'))
    await bench.create('bad', {
      volumes: [volume],
      containers: [
        {
          name: 'main',
          image: 'busybox:1',
          volumeMounts: [{ name: 'v', mountPath: '/data', subPath: 'escape/passwd' }],
        },
      ],
    })
    const bad = await bench.untilPod(
      'bad',
      (pod) => pod.status?.containerStatuses?.[0]?.state?.waiting?.reason === 'CreateContainerConfigError',
    )
    expect(bad.status?.containerStatuses?.[0]?.state?.waiting?.message).toContain('not within volume path')
  })
})

describe('what a container finds', () => {
  it('in its environment', async () => {
    await make('ConfigMap', 'settings', { data: { COLOR: 'red' } })
    await make('Service', 'redis-primary', { spec: { clusterIP: '10.96.0.77', ports: [{ port: 6379 }] } })
    await runWith(undefined, {
      resources: { limits: { cpu: '1500m' } },
      envFrom: [{ prefix: 'P_', configMapRef: { name: 'settings' } }],
      env: [
        { name: 'NAME', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
        { name: 'IP', valueFrom: { fieldRef: { fieldPath: 'status.podIP' } } },
        { name: 'CPU', valueFrom: { resourceFieldRef: { resource: 'limits.cpu' } } },
        { name: 'ALL', value: '$(NAME)-$(P_COLOR)-$$(NAME)-$(NOBODY)-$(REDIS_PRIMARY_SERVICE_PORT)' },
      ],
      args: ['$(NAME)'],
    })
    await bench.untilPod('app', isReady)
    const config = await configOf()
    const env = Object.fromEntries(config.env.map(({ name, value }) => [name, value]))
    expect(config.args).toEqual(['app'])
    expect(env).toMatchObject({
      P_COLOR: 'red',
      NAME: 'app',
      IP: '10.88.0.1',
      CPU: '2',
      ALL: 'app-red-$(NAME)-$(NOBODY)-6379',
      REDIS_PRIMARY_SERVICE_HOST: '10.96.0.77',
      REDIS_PRIMARY_SERVICE_PORT: '6379',
      REDIS_PRIMARY_PORT: 'tcp://10.96.0.77:6379',
      REDIS_PRIMARY_PORT_6379_TCP: 'tcp://10.96.0.77:6379',
      REDIS_PRIMARY_PORT_6379_TCP_PROTO: 'tcp',
      REDIS_PRIMARY_PORT_6379_TCP_PORT: '6379',
      REDIS_PRIMARY_PORT_6379_TCP_ADDR: '10.96.0.77',
      KUBERNETES_SERVICE_HOST: '10.96.0.1',
    })
  })

  it('is missing: CreateContainerConfigError until it is there', async () => {
    await runWith(undefined, { env: [{ name: 'A', valueFrom: { configMapKeyRef: { name: 'late', key: 'a' } } }] })
    const pod = await bench.untilPod(
      'app',
      (one) => one.status?.containerStatuses?.[0]?.state?.waiting?.reason === 'CreateContainerConfigError',
    )
    expect(pod.status?.containerStatuses?.[0]?.state?.waiting?.message).toBe('configmap "late" not found')
    await bench.untilEvent('app', 'Failed', 'Error: configmap "late" not found')
    await make('ConfigMap', 'late', { data: { a: '1' } })
    await bench.untilPod('app', isReady)
  })

  it('in /etc/hosts', async () => {
    await runWith(
      undefined,
      {},
      { hostname: 'web', subdomain: 'group', hostAliases: [{ ip: '192.0.2.1', hostnames: ['foo', 'bar'] }] },
    )
    await bench.untilPod('app', isReady)
    const mount = (await configOf()).mounts.find(({ containerPath }) => containerPath === '/etc/hosts')!
    const text = await readFile(mount.hostPath, 'utf8')
    expect(text).toContain('10.88.0.1\tweb.group.default.svc.cluster.local\tweb\n')
    expect(text).toContain('# Entries added by HostAliases.\n192.0.2.1\tfoo\tbar\n')
  })
})

describe('eviction', () => {
  it('ends a pod whose volume grew beyond its limit', async () => {
    await runWith({ name: 'v', emptyDir: { sizeLimit: '10Ki' } })
    await bench.untilPod('app', isReady)
    await writeFile(path.join((await mountOf()).hostPath, 'big'), Buffer.alloc(100_000, 1))
    const pod = await bench.untilPod('app', (one) => one.status?.phase === 'Failed')
    expect(pod.status).toMatchObject({
      reason: 'Evicted',
      message: 'Usage of EmptyDir volume "v" exceeds the limit "10Ki". ',
    })
    expect(pod.status?.conditions).toContainEqual(
      expect.objectContaining({ type: 'DisruptionTarget', status: 'True', reason: 'TerminationByKubelet' }),
    )
    await bench.untilEvent('app', 'Evicted')
  })
})

describe('last words', () => {
  it.each([
    ['from the file', 'File', 0, 'DONE'],
    ['from the file although it failed', 'FallbackToLogsOnError', 1, 'DONE'],
  ])('%s', async (_, terminationMessagePolicy, exitCode, message) => {
    await bench[Symbol.asyncDispose]()
    bench = await workbench({
      program: () => ({ exitAfter: 100, exitCode, leaves: { path: '/dev/termination-log', text: message } }),
    })
    await runWith(undefined, { terminationMessagePolicy }, { restartPolicy: 'Never' })
    const pod = await bench.untilPod(
      'app',
      (one) => one.status?.containerStatuses?.[0]?.state?.terminated !== undefined,
    )
    expect(pod.status?.containerStatuses?.[0]?.state?.terminated?.message).toBe(message)
  })

  it('from the log of what failed', async () => {
    await bench[Symbol.asyncDispose]()
    bench = await workbench({ program: () => ({ exitAfter: 100, exitCode: 1, output: ['one', 'DONE'] }) })
    await runWith(undefined, { terminationMessagePolicy: 'FallbackToLogsOnError' }, { restartPolicy: 'Never' })
    const pod = await bench.untilPod(
      'app',
      (one) => one.status?.containerStatuses?.[0]?.state?.terminated !== undefined,
    )
    expect(pod.status?.containerStatuses?.[0]?.state?.terminated?.message).toBe('one\nDONE\n')
  })
})
