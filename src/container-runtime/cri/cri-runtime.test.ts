/** What no containerd of today shows: runtimes with CRI's events, without any, with systemd's cgroups; and bad answers. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { Server, ServerCredentials, type ServerWritableStream, status } from '@grpc/grpc-js'
import { afterEach, expect, test } from 'vitest'
import { systemClock } from '../../base/clock.ts'
import { silentLogger } from '../../base/log.ts'
import type { Cgroups } from '../../linux/cgroups.ts'
import { startCriRuntime } from '../cri-runtime.ts'
import { containerConfig, sandboxConfig } from '../pod-configs.contract.ts'
import type { ContainerEvent, ContainerRuntime } from '../runtime.ts'
import { TaskEvent } from './messages/runtime.ts'
import { METHOD } from './methods.ts'
import { podCgroups, slicePath } from './pod-cgroups.ts'

type Answers = { readonly [K in keyof typeof METHOD]?: (request: never) => unknown }
type Emit = (event: object) => void

const cleanups: (() => unknown)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

const EMPTY: Answers = {
  version: () => ({ runtime_name: 'fake', runtime_version: '9', runtime_api_version: 'v1' }),
  listPodSandbox: () => ({}),
  listContainers: () => ({}),
}

/** A CRI server on a socket of its own that answers what it is given, and UNIMPLEMENTED to all else. */
async function fake(
  answers: Answers,
  onEvents?: (emit: Emit) => void,
  source: 'containerEvents' | 'subscribe' = 'containerEvents',
): Promise<ContainerRuntime> {
  const folder = mkdtempSync(path.join(tmpdir(), 'sampan-cri-'))
  cleanups.push(() => rmSync(folder, { recursive: true, force: true }))
  const server = new Server()
  const known = { ...EMPTY, ...answers } as Record<string, (request: unknown) => unknown>
  for (const [name, { path: service, request, response }] of Object.entries(METHOD)) {
    const isStream = name === 'containerEvents' || name === 'subscribe'
    const method = {
      path: service,
      requestStream: false,
      responseStream: isStream,
      requestDeserialize: request.decode,
      requestSerialize: request.encode as never,
      responseSerialize: response.encode as never,
      responseDeserialize: response.decode,
    }
    const answer = known[name]
    const unary = (call: { request: unknown }, done: (error: unknown, answer?: unknown) => void) => {
      if (!answer) return done({ code: status.UNIMPLEMENTED, details: 'unknown method' })
      try {
        done(null, answer(call.request))
      } catch (error) {
        done(error)
      }
    }
    const stream = (call: ServerWritableStream<unknown, unknown>) => {
      if (name === source && onEvents) onEvents((event) => call.write(event))
      else call.emit('error', { code: status.UNIMPLEMENTED, details: 'unknown method' })
    }
    server.addService({ [name]: method } as never, { [name]: isStream ? stream : unary } as never)
  }
  const socket = path.join(folder, 'cri.sock')
  await new Promise<void>((resolve, reject) =>
    server.bindAsync(`unix:${socket}`, ServerCredentials.createInsecure(), (error) =>
      error ? reject(error) : resolve(),
    ),
  )
  cleanups.push(() => server.forceShutdown())
  const runtime = await startCriRuntime({ socket: `unix://${socket}`, clock: systemClock, log: silentLogger })
  cleanups.push(() => runtime[Symbol.asyncDispose]())
  return runtime
}

async function eventsOf(runtime: ContainerRuntime): Promise<ContainerEvent[]> {
  const stop = new AbortController()
  const seen: ContainerEvent[] = []
  const reading = (async () => {
    for await (const event of runtime.events(stop.signal)) seen.push(event)
  })()
  cleanups.push(async () => {
    stop.abort()
    await reading
  })
  return seen
}

test("CRI's own events are told, each step once", async () => {
  let emit: Emit = () => {}
  const runtime = await fake({}, (told) => {
    emit = told
  })
  const seen = await eventsOf(runtime)
  const event = (type: number) =>
    emit({ container_id: 'c', container_event_type: type, pod_sandbox_status: { id: 's' } })
  await expect.poll(() => emit.length).toBe(1)
  for (const type of [0, 1, 1, 2, 3, 2]) event(type)
  await expect.poll(() => seen.map(({ type }) => type)).toEqual(['CREATED', 'STARTED', 'STOPPED', 'DELETED'])
  expect(seen[0]).toEqual({ type: 'CREATED', containerId: 'c', sandboxId: 's' })
})

test('a container that is told late to have been out of memory is told of again', async () => {
  let emit: Emit = () => {}
  const runtime = await fake(
    {
      containerStatus: () => ({ status: { id: 'c', state: 2, exit_code: 137, reason: 'Error' } }),
      listContainers: () => ({ containers: [{ id: 'c', pod_sandbox_id: 's', state: 1 }] }),
    },
    (told) => {
      emit = told
    },
    'subscribe',
  )
  const seen = await eventsOf(runtime)
  const task = (topic: string, event: object) =>
    emit({ namespace: 'k8s.io', topic, event: { type_url: '', value: TaskEvent.encode(event) } })
  const reason = async () => (await runtime.containerStatus('c')).reason
  await expect.poll(() => emit.length).toBe(1)
  task('/tasks/exit', { container_id: 'c', id: 'c' })
  await expect.poll(() => seen.length).toBe(1)
  expect(await reason()).toBe('Error')
  task('/tasks/oom', { container_id: 'c' })
  await expect.poll(() => seen.map(({ type }) => type)).toEqual(['STOPPED', 'STOPPED'])
  expect(await reason()).toBe('OOMKilled')
})

test('without any events lists tell what has changed', async () => {
  let containers: object[] = [{ id: 'a', pod_sandbox_id: 's', state: 1 }]
  const runtime = await fake({ listContainers: () => ({ containers }) })
  const seen = await eventsOf(runtime)
  containers = [{ id: 'b', pod_sandbox_id: 's', state: 2 }]
  await expect
    .poll(() => seen.map(({ containerId, type }) => `${containerId} ${type}`).sort(), { timeout: 10_000 })
    .toEqual(['a DELETED', 'b STOPPED'])
})

test('times keep their nanoseconds, and what is absent is zero', async () => {
  const created = 1_760_000_000_123_456_789n
  const runtime = await fake({
    containerStatus: () => ({ status: { id: 'c', state: 2, created_at: created, exit_code: 0, annotations: {} } }),
    listContainers: () => ({ containers: [{ id: 'c', pod_sandbox_id: 's', state: 2 }] }),
  })
  const found = await runtime.containerStatus('c')
  expect(found).toMatchObject({ id: 'c', sandboxId: 's', state: 'EXITED', exitCode: 0, attempt: 0, labels: {} })
  expect(found.createdAt).toBeCloseTo(Number(created / 1000n) / 1000, 2)
})

test('where systemd makes the cgroups, pods are slices', async () => {
  const asked: { config?: { linux?: { cgroup_parent?: string } } }[] = []
  const runtime = await fake({
    runtimeConfig: () => ({ linux: { cgroup_driver: 0 } }),
    runPodSandbox: (request) => {
      asked.push(request)
      return { pod_sandbox_id: 's' }
    },
  })
  await runtime.runPodSandbox(sandboxConfig('/var/log/pods', { cgroupParent: '/kubepods/burstable/pod1-2' }))
  expect(asked[0]!.config!.linux!.cgroup_parent).toBe(
    '/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod1_2.slice',
  )
  expect(slicePath('/kubepods')).toBe('/kubepods.slice')
})

test('where systemd makes the cgroups, the number of processes is set in the slice of the pod', () => {
  const set: unknown[] = []
  const cgroups = { update: (group: string, limits: object) => void set.push([group, limits]) } as unknown as Cgroups
  const groups = podCgroups({ root: '', systemd: true, pause: async () => {}, cgroups })
  groups.limitPod('/kubepods.slice/pod.slice', { pidsLimit: 4096, memoryLimitBytes: 1 })
  groups.limitPod('/kubepods.slice/pod.slice', {})
  expect(set).toEqual([['/kubepods.slice/pod.slice', { pidsLimit: 4096 }]])
})

test('a user namespace is refused by a runtime that would ignore it', async () => {
  const runtime = await fake({ status: () => ({ status: { conditions: [] } }) })
  const mapping = [{ containerId: 0, hostId: 65536, length: 65536 }]
  const namespaces = { network: 'POD', pid: 'CONTAINER', ipc: 'POD', user: { uids: mapping, gids: mapping } } as const
  const run = runtime.runPodSandbox(sandboxConfig('/var/log/pods', { namespaces }))
  await expect(run).rejects.toMatchObject({ code: 'FailedPrecondition', message: expect.stringContaining('user name') })
})

test.each([
  [status.NOT_FOUND, 'gone', 'NotFound'],
  [status.UNKNOWN, 'container is in CONTAINER_EXITED state', 'FailedPrecondition'],
  [status.UNKNOWN, 'image "x": not found', 'NotFound'],
  [status.UNKNOWN, 'something else', 'Internal'],
])('gRPC code %i with %j is %s', async (code, details, expected) => {
  const refuse = () => {
    throw Object.assign(new Error(details), { code, details })
  }
  const runtime = await fake({ createContainer: refuse })
  const folder = mkdtempSync(path.join(tmpdir(), 'sampan-cri-logs-'))
  cleanups.push(() => rmSync(folder, { recursive: true, force: true }))
  const config = containerConfig({ imageId: 'i', image: 'i' }, ['true'])
  const create = runtime.createContainer('s', config, sandboxConfig(folder))
  await expect(create).rejects.toMatchObject({ code: expected, message: details })
})

test('a socket where nobody answers is named', async () => {
  const start = startCriRuntime({ socket: '/no/such.sock', clock: systemClock, log: silentLogger })
  await expect(start).rejects.toThrow('no CRI v1 runtime answers at /no/such.sock')
})
