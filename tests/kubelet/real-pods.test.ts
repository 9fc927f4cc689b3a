/** What a kubelet does with real containers: files, processes, signals. */
import { readdirSync } from 'node:fs'
import path from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { containerdNode } from '../container-runtime/containerd-under-test.ts'
import { asRootEach } from '../linux/as-root.ts'
import {
  builtinNode,
  IMAGE,
  isReady,
  mainOf,
  type NodeMachine,
  phaseIs,
  type RealNode,
  realNode,
  sh,
  until,
} from './kubelet-under-test.ts'

const MACHINES: [string, () => NodeMachine][] = [
  ['builtin', builtinNode],
  ['containerd', containerdNode],
]

asRootEach(MACHINES, 'a kubelet with real containers on', (_, machine) => {
  let node: RealNode
  beforeAll(async () => {
    node = await realNode({}, machine())
  })
  afterAll(() => node?.[Symbol.asyncDispose]())

  const make = (kind: string, plural: string, name: string, more: object) =>
    node.client
      .resource({ group: '', version: 'v1', plural, namespaced: true })
      .namespace('default')
      .create({ apiVersion: 'v1', kind, metadata: { name }, ...more } as never)
  const gone = async (name: string) => {
    await node.pods().delete(name)
    await node.untilGone(name)
  }

  test('a program runs to its end, and its log can be read', async () => {
    await node.run('hello', {
      restartPolicy: 'Never',
      containers: [sh('echo hello from $NAME; hostname')].map((one) => ({
        ...one,
        env: [{ name: 'NAME', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } }],
      })),
    })
    const pod = await node.untilPod('hello', phaseIs('Succeeded'))
    expect(mainOf(pod).state?.terminated).toMatchObject({ exitCode: 0, reason: 'Completed' })
    expect(await node.logs('hello')).toBe('hello from hello\nhello\n')
    await gone('hello')
  })

  test.each([
    ['exit 3', 3, 'Error'],
    ['echo last words > /dev/termination-log; exit 1', 1, 'Error'],
  ])('%s', async (script, exitCode, reason) => {
    await node.run('ends', { restartPolicy: 'Never', containers: [sh(script)] })
    const pod = await node.untilPod('ends', phaseIs('Failed'))
    expect(mainOf(pod).state?.terminated).toMatchObject({ exitCode, reason })
    if (script.includes('words')) expect(mainOf(pod).state?.terminated?.message).toBe('last words\n')
    await gone('ends')
  })

  test('a command that does not exist', async () => {
    await node.run('wrong', { containers: [{ name: 'main', image: IMAGE, command: ['/no/such/program'] }] })
    const pod = await node.untilPod('wrong', (one) => mainOf(one).lastState?.terminated !== undefined)
    expect(['RunContainerError', 'CrashLoopBackOff']).toContain(mainOf(pod).state?.waiting?.reason)
    await gone('wrong')
  })

  test('volumes: shared, in memory, of a ConfigMap that changes, and parts of them', async () => {
    await make('ConfigMap', 'configmaps', 'settings', { data: { color: 'red' } })
    await node.run('files', {
      securityContext: { fsGroup: 1234 },
      volumes: [
        { name: 'disk', emptyDir: {} },
        { name: 'memory', emptyDir: { medium: 'Memory', sizeLimit: '1Mi' } },
        { name: 'settings', configMap: { name: 'settings' } },
      ],
      initContainers: [
        {
          ...sh('echo made > /disk/by-init; mkdir /disk/part; echo x > /disk/part/file'),
          name: 'init',
          volumeMounts: [{ name: 'disk', mountPath: '/disk' }],
        },
      ],
      containers: [
        {
          ...sh('sleep 1000'),
          volumeMounts: [
            { name: 'disk', mountPath: '/disk' },
            { name: 'disk', mountPath: '/part', subPath: 'part' },
            { name: 'memory', mountPath: '/memory' },
            { name: 'settings', mountPath: '/settings' },
          ],
        },
      ],
    })
    await node.untilPod('files', isReady)
    const ask = async (script: string) => (await node.exec('files', ['sh', '-c', script])).output.trim()
    expect(await ask('cat /disk/by-init /part/file')).toBe('made\nx')
    expect(await ask('stat -c %g:%a /disk')).toBe('1234:2777')
    expect(await ask('df -k /memory | tail -1 | awk "{print \\$2}"')).toBe('1024')
    expect(await ask('echo x > /settings/y || echo read-only')).toContain('read-only')
    await node.client
      .resource({ group: '', version: 'v1', plural: 'configmaps', namespaced: true })
      .namespace('default')
      .patch('settings', { data: { color: 'blue' } })
    await until(
      () => ask('cat /settings/color'),
      (text) => text === 'blue',
    )
    await gone('files')
  })

  test('a liveness probe restarts what is ill, in place', async () => {
    const livenessProbe = { exec: { command: ['cat', '/tmp/health'] }, periodSeconds: 1, failureThreshold: 1 }
    const container = { ...sh('touch /tmp/health; sleep 2; rm /tmp/health; sleep 1000'), livenessProbe }
    await node.run('ill', { containers: [container] })
    const pod = await node.untilPod('ill', (one) => mainOf(one).restartCount === 1)
    expect(mainOf(pod).lastState?.terminated?.exitCode).toBeGreaterThan(128)
    await gone('ill')
  })

  test('signals: preStop first, then SIGTERM', async () => {
    const script = 'trap "echo got TERM; exit 0" TERM; while true; do sleep 0.1; done'
    const lifecycle = { preStop: { exec: { command: ['sh', '-c', 'echo preStop > /proc/1/fd/1'] } } }
    await node.run('polite', { terminationGracePeriodSeconds: 20, containers: [{ ...sh(script), lifecycle }] })
    await node.untilPod('polite', isReady)
    await until(
      async () => (await node.exec('polite', ['true'])).code,
      (code) => code === 0,
    )
    const begun = performance.now()
    await gone('polite')
    expect(performance.now() - begun).toBeLessThan(15_000)
  })

  test('another kubelet goes on with what runs', async () => {
    await node.run('lasting', { containers: [sh('echo once; sleep 1000')] })
    const before = await node.untilPod('lasting', isReady)
    await node.restart()
    await until(
      async () => (await node.exec('lasting', ['true']).catch(() => ({ code: 1 }))).code,
      (code) => code === 0,
    )
    const after = await node.untilPod('lasting', isReady)
    expect(mainOf(after)).toMatchObject({ containerID: mainOf(before).containerID, restartCount: 0 })
    expect(await node.logs('lasting')).toBe('once\n')
    await gone('lasting')
  })

  test('nothing is left of pods that are gone', async () => {
    expect(await node.runtime.listPodSandbox()).toEqual([])
    expect(readdirSync(path.join(node.rootDir, 'pods'))).toEqual([])
    expect(readdirSync(path.join(node.rootDir, 'log', 'pods'))).toEqual([])
    expect(node.leftovers()).toEqual([])
  })
})
