/** How pods and their containers live and end. */
import path from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Pod } from '../../src/api/generated/core-v1.ts'
import { asRoot } from '../linux/as-root.ts'
import { eventually } from '../tools/machine.ts'
import { ConformanceNode, conditionOf, IMAGE, isReady, pod, sh, statusOf } from './conformance-node.ts'

const LITTLE_MEMORY = { resources: { limits: { memory: '64Mi' } } }
const ALWAYS = { restartPolicy: 'Always' } as const
const init = (name: string, script: string) => sh(script, { name })

const ENDED = [
  { name: 'good', script: 'exit 0', phase: 'Succeeded', terminated: { exitCode: 0, reason: 'Completed' } },
  { name: 'bad', script: 'exit 3', phase: 'Failed', terminated: { exitCode: 3, reason: 'Error' } },
]

const LAST_WORDS = [
  { name: 'words-in-file', script: 'printf DONE > /dev/termination-log', more: {}, message: 'DONE' },
  {
    name: 'words-of-user',
    script: 'printf DONE > /dev/words',
    more: { terminationMessagePath: '/dev/words', securityContext: { runAsUser: 1000 } },
    message: 'DONE',
  },
  {
    name: 'words-from-log',
    script: 'printf DONE; exit 1',
    more: { terminationMessagePolicy: 'FallbackToLogsOnError' },
    message: 'DONE',
  },
  {
    name: 'words-none',
    script: 'echo DONE',
    more: { terminationMessagePolicy: 'FallbackToLogsOnError' },
    message: undefined,
  },
  {
    name: 'words-file-first',
    script: 'echo other; printf OK > /dev/termination-log',
    more: { terminationMessagePolicy: 'FallbackToLogsOnError' },
    message: 'OK',
  },
]

const INIT_PODS = [
  pod('init-once', sh('true'), { initContainers: [init('first', 'echo 1'), init('second', 'echo 2')] }),
  pod('init-always', sh('sleep 1000'), {
    ...ALWAYS,
    initContainers: [init('first', 'true'), init('second', 'true')],
  }),
  pod('init-fails-once', sh('echo never'), { initContainers: [init('first', 'exit 1'), init('second', 'true')] }),
  pod('init-fails-always', sh('echo never'), {
    ...ALWAYS,
    initContainers: [init('first', 'exit 1'), init('second', 'true')],
  }),
  pod('init-sidecar', sh('cat /shared/up'), {
    volumes: [{ name: 'v', emptyDir: {} }],
    initContainers: [
      {
        ...init('side', 'echo up > /shared/up; trap "exit 0" TERM; while :; do sleep 0.1; done'),
        restartPolicy: 'Always',
        startupProbe: { exec: { command: ['cat', '/shared/up'] }, periodSeconds: 1 },
        volumeMounts: [{ name: 'v', mountPath: '/shared' }],
      },
    ],
    containers: [sh('cat /shared/up', { volumeMounts: [{ name: 'v', mountPath: '/shared' }] })],
  }),
]

const COMMANDS = [
  { name: 'default-command', more: { stdin: false }, wrote: '' },
  {
    name: 'own-arguments',
    more: { command: ['echo'], args: ['override', 'arguments'] },
    wrote: 'override arguments\n',
  },
  { name: 'own-command', more: { command: ['echo', 'override'] }, wrote: 'override\n' },
]

const RUNTIME_PODS = [
  ...['Always', 'OnFailure', 'Never'].map((policy) => {
    const fails = policy === 'Never' ? 'exit 1' : 'test -e /v/been && exec sleep 1000; touch /v/been; exit 1'
    return pod(`restart-${policy.toLowerCase()}`, sh(fails, { volumeMounts: [{ name: 'v', mountPath: '/v' }] }), {
      restartPolicy: policy,
      volumes: [{ name: 'v', emptyDir: {} }],
    })
  }),
]

asRoot('how pods live and end', () => {
  let node: ConformanceNode
  beforeAll(async () => {
    node = await ConformanceNode.up()
    await node.apply(
      ...ENDED.map(({ name, script }) => pod(name, sh(script))),
      ...LAST_WORDS.map(({ name, script, more }) => pod(name, sh(script, more))),
      ...INIT_PODS,
      ...COMMANDS.map(({ name, more }) => pod(name, { name: 'main', image: IMAGE, ...more })),
      ...RUNTIME_PODS,
      pod('no-image', { name: 'main', image: 'sampan.local/none:1' }, ALWAYS),
      pod('bad-program', { name: 'main', image: IMAGE, command: ['/no/such/program'] }, ALWAYS),
      pod('crashing', sh('exit 1'), ALWAYS),
      pod('lasting', [sh('echo hello; sleep 1000'), sh('sleep 1000', { name: 'other' })], ALWAYS),
      pod('lines', sh('for i in 1 2 3 4 5; do echo line $i; done')),
      pod('deadline', sh('sleep 1000'), { activeDeadlineSeconds: 300 }),
      pod('memory-hog', sh('node -e "const a=[];for(;;)a.push(Buffer.alloc(1e7,1))"', LITTLE_MEMORY)),
    )
  }, 180_000)
  afterAll(() => node?.[Symbol.asyncDispose](), 120_000)

  test.each(ENDED)('$name: $phase', async ({ name, phase, terminated }) => {
    const ended = (await node.ended([name])).get(name)!
    expect(ended.status?.phase).toBe(phase)
    expect(statusOf(ended).state?.terminated).toMatchObject(terminated)
  })

  test.each(LAST_WORDS)('$name', async ({ name, message }) => {
    const ended = (await node.ended([name])).get(name)!
    expect(statusOf(ended).state?.terminated?.message).toBe(message)
  })

  test.each(COMMANDS)('$name', async ({ name, wrote }) => {
    await node.ended([name])
    expect(node.log(name)).toBe(wrote)
  })

  test('init containers run one after the other, then the others', async () => {
    const once = (await node.ended(['init-once'])).get('init-once')!
    expect(once.status?.phase).toBe('Succeeded')
    const [first, second] = once.status?.initContainerStatuses?.map(({ state }) => state?.terminated) ?? []
    expect(first!.finishedAt! <= second!.startedAt!).toBe(true)
    expect(conditionOf(once, 'Initialized')).toMatchObject({ status: 'True', reason: 'PodCompleted' })
    const always = await node.until('init-always', isReady)
    expect(always.status?.initContainerStatuses?.map(({ ready, restartCount }) => [ready, restartCount])).toEqual([
      [true, 0],
      [true, 0],
    ])
  })

  test('nothing starts after an init container that failed', async () => {
    const once = (await node.ended(['init-fails-once'])).get('init-fails-once')!
    expect(once.status?.phase).toBe('Failed')
    expect(statusOf(once, 'main').state?.waiting?.reason).toBe('PodInitializing')
    expect(conditionOf(once, 'Initialized')).toMatchObject({
      status: 'False',
      reason: 'ContainersNotInitialized',
      message: 'containers with incomplete status: [first second]',
    })
    const always = await node.until('init-fails-always', (one) => (statusOf(one, 'first').restartCount ?? 0) > 1)
    expect(always.status?.phase).toBe('Pending')
    expect(statusOf(always, 'main').started).toBe(false)
  })

  test('a sidecar is up before the others, and goes after them', async () => {
    const ended = (await node.ended(['init-sidecar'])).get('init-sidecar')!
    expect(ended.status?.phase).toBe('Succeeded')
    expect(node.log('init-sidecar')).toBe('up\n')
    expect(statusOf(ended, 'side').state?.terminated?.exitCode).toBe(0)
  })

  test('a container that ended is started again as its pod says', async () => {
    const always = await node.until('restart-always', (one) => statusOf(one).state?.running !== undefined)
    expect(statusOf(always)).toMatchObject({ restartCount: 1, lastState: { terminated: { exitCode: 1 } } })
    const onFailure = await node.until('restart-onfailure', (one) => statusOf(one).state?.running !== undefined)
    expect(statusOf(onFailure).restartCount).toBe(1)
    const never = (await node.ended(['restart-never'])).get('restart-never')!
    expect(never.status?.phase).toBe('Failed')
    expect(statusOf(never).restartCount).toBe(0)
  })

  test.each([
    ['no-image', ['ErrImagePull', 'ImagePullBackOff']],
    ['bad-program', ['RunContainerError', 'CreateContainerError', 'CrashLoopBackOff']],
    ['crashing', ['CrashLoopBackOff']],
  ])('%s says why it waits, and can be deleted', async (name, reasons) => {
    await node.until(name, (one) => reasons.includes(statusOf(one).state?.waiting?.reason ?? ''))
    const waiting = await node.until(name, (one) => reasons.at(-1) === statusOf(one).state?.waiting?.reason)
    expect(waiting.status?.phase).toBe(name === 'no-image' ? 'Pending' : 'Running')
    await node.kubectl('delete', 'pod', name, '--timeout=20s')
  })

  test('who takes more memory than it may is killed', async () => {
    const ended = (await node.ended(['memory-hog'])).get('memory-hog')!
    expect(statusOf(ended).state?.terminated).toMatchObject({ exitCode: 137, reason: 'OOMKilled' })
  })

  test('logs and exec', async () => {
    await node.until('lasting', isReady)
    expect(await node.kubectl('logs', 'lasting', '-c', 'main')).toBe('hello\n')
    expect(await node.kubectl('exec', 'lasting', '-c', 'other', '--', 'echo', 'remote', 'execution')).toBe(
      'remote execution\n',
    )
  })

  test('commands and logs over plain WebSockets', async () => {
    await node.until('lasting', isReady)
    const program = path.resolve(import.meta.dirname, '..', 'tools', 'read-web-socket.mjs')
    const read = async (door: string, protocol: string) => {
      const address = `/api/v1/namespaces/default/pods/lasting/${door}`
      const lines = (await node.machine.must(process.execPath, program, address, protocol)).trim().split('\n')
      return lines.map((line) => Buffer.from(line, 'base64'))
    }
    const words = 'command=echo&command=remote+execution+test'
    const messages = await read(`exec?container=main&stdout=1&stderr=1&${words}`, 'channel.k8s.io')
    // The first byte names the stream; on others than that of the output nothing is said.
    const said = messages.filter((message) => message.length > 1)
    expect(said.map(([channel]) => channel)).toEqual(said.map(() => 1))
    expect(Buffer.concat(said.map((message) => message.subarray(1))).toString()).toBe('remote execution test\n')
    expect(Buffer.concat(await read('log?container=main', 'binary.k8s.io')).toString()).toBe('hello\n')
  })

  test('logs can be cut, dated and followed from a moment on', async () => {
    await node.ended(['lines'])
    const logs = (...args: string[]) => node.kubectl('logs', 'lines', ...args)
    expect(await logs('--tail=1')).toBe('line 5\n')
    expect(await logs('--limit-bytes=3')).toBe('lin')
    expect(await logs('--tail=1', '--timestamps')).toMatch(/^\d{4}-\d\d-\d\dT\S+Z line 5\n$/)
    expect((await logs('--since=24h')).split('\n')).toHaveLength(6)
    await eventually(
      () => logs('--since=1s'),
      (text) => text === '',
    )
  })

  test('an ephemeral container joins a pod', async () => {
    await node.until('lasting', isReady)
    const ephemeral = { name: 'debugger', image: IMAGE, command: ['sh', '-c', 'echo polo; sleep 1000'] }
    await patchEphemeral(node, [ephemeral])
    const running = (one: Pod, name: string) =>
      one.status?.ephemeralContainerStatuses?.find((status) => status.name === name)?.state?.running !== undefined
    await node.until('lasting', (one) => running(one, 'debugger'))
    await eventually(
      async () => node.log('lasting', 'debugger'),
      (text) => text === 'polo\n',
    )
    await patchEphemeral(node, [ephemeral, { ...ephemeral, name: 'debugger2' }])
    await node.until('lasting', (one) => running(one, 'debugger2'))
  })

  test('a deadline may come nearer', async () => {
    await node.until('deadline', (one) => one.status?.phase === 'Running')
    await node.kubectl('patch', 'pod', 'deadline', '-p', '{"spec":{"activeDeadlineSeconds":2}}')
    const ended = await node.until('deadline', (one) => one.status?.phase === 'Failed')
    expect(ended.status).toMatchObject({
      reason: 'DeadlineExceeded',
      message: 'Pod was active on the node longer than the specified deadline',
    })
  })
})

async function patchEphemeral(node: ConformanceNode, ephemeralContainers: object[]): Promise<void> {
  const patch = JSON.stringify({ spec: { ephemeralContainers } })
  await node.kubectl('patch', 'pod', 'lasting', '--subresource=ephemeralcontainers', '-p', patch)
}
