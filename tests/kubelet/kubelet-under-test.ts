import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { ContainerStatus, Pod } from '../../src/api/generated/core-v1.ts'
import { startApiServer } from '../../src/apiserver/server.ts'
import { systemClock } from '../../src/base/clock.ts'
import { silentLogger } from '../../src/base/log.ts'
import { systemRandom } from '../../src/base/random.ts'
import { type Client, createClient } from '../../src/client/client.ts'
import type { Transport } from '../../src/client/transport.ts'
import type { ContainerRuntime } from '../../src/container-runtime/runtime.ts'
import { kernelMounter } from '../../src/kubelet/kernel-mounter.ts'
import { type Kubelet, type KubeletOptions, startKubelet } from '../../src/kubelet/kubelet.ts'
import { startSyscallAgents } from '../../src/linux/syscall-agent.ts'
import { openMemoryStore } from '../../src/store/embedded.ts'
import { builtinMachine } from '../container-runtime/builtin-under-test.ts'

export const IMAGE = 'test.local/busybox:1'
const PODS = { group: '', version: 'v1', plural: 'pods', namespaced: true }

/** A kubelet on the builtin runtime, with an API server in the same process. */
export interface RealNode extends AsyncDisposable {
  readonly client: Client
  readonly kubelet: Kubelet
  readonly runtime: ContainerRuntime
  readonly rootDir: string
  readonly transport: Transport
  /** All cgroups of the node's pods are below it. */
  readonly cgroupRoot: string
  pods(): ReturnType<Client['resource']>
  run(name: string, spec: Partial<NonNullable<Pod['spec']>>): Promise<Pod>
  untilPod(name: string, wanted: (pod: Pod) => boolean): Promise<Pod>
  untilGone(name: string): Promise<void>
  logs(name: string, container?: string): Promise<string>
  exec(name: string, command: readonly string[]): Promise<{ code: number; output: string }>
  leftovers(): string[]
  /** Ends the kubelet and starts another one. */
  restart(): Promise<void>
}

/** Where the pods of the node run. */
export interface NodeMachine extends AsyncDisposable {
  readonly cgroupRoot: string
  start(): Promise<ContainerRuntime>
  leftovers(): string[]
}

export const builtinNode = (podIP?: string): NodeMachine =>
  builtinMachine((folder) => ({ [IMAGE]: [path.join(folder, 'busybox')] }), podIP)

export async function realNode(
  options: Partial<KubeletOptions> = {},
  machine: NodeMachine = builtinNode(),
): Promise<RealNode> {
  const rootDir = mkdtempSync(path.join(tmpdir(), 'sampan-kubelet-'))
  const store = await openMemoryStore()
  const common = { clock: systemClock, random: systemRandom, log: silentLogger }
  const server = await startApiServer({ ...common, store, serviceCidrs: ['10.96.0.0/16'] })
  const admin = { name: 'admin', groups: ['system:masters', 'system:authenticated'] }
  const client = createClient(server.transport(admin))
  const runtime = await machine.start()
  const agents = await startSyscallAgents()
  const start = () =>
    startKubelet({
      ...common,
      transport: server.transport(admin),
      nodeName: 'node-1',
      runtime,
      rootDir,
      nodeAddresses: ['127.0.0.1'],
      // The benchmark runs more than the usual 110.
      capacity: { pods: '300' },
      clusterDns: ['10.96.0.10'],
      clusterDomain: 'cluster.local',
      mounter: kernelMounter(agents),
      evictionThresholds: { memoryAvailableBytes: 0, diskAvailableFraction: 0, inodesFreeFraction: 0 },
      ...options,
    })
  const account = {
    apiVersion: 'v1',
    kind: 'ServiceAccount',
    metadata: { name: 'default' },
    automountServiceAccountToken: false,
  }
  await client
    .resource({ ...PODS, plural: 'serviceaccounts' })
    .namespace('default')
    .create(account as never)
  let kubelet = await start()
  const pods = () => client.resource<Pod>(PODS).namespace('default')
  const access = { namespace: 'default' }
  return {
    client,
    runtime,
    rootDir,
    transport: server.transport(admin),
    cgroupRoot: machine.cgroupRoot,
    get kubelet() {
      return kubelet
    },
    pods: pods as never,
    run: (name, spec) =>
      pods().create({
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: { name },
        spec: { nodeName: 'node-1', containers: [], terminationGracePeriodSeconds: 2, ...spec },
      }),
    untilPod: (name, wanted) => until(() => pods().get(name), wanted),
    untilGone: async (name) => {
      const look = () =>
        pods()
          .get(name)
          .then(
            () => false,
            () => true,
          )
      await until(look, Boolean)
    },
    async logs(name, container = 'main') {
      let text = ''
      const signal = new AbortController().signal
      for await (const piece of kubelet.access.containerLogs({ ...access, name }, container, {}, signal)) text += piece
      return text
    },
    async exec(name, command) {
      const session = await kubelet.access.execInContainer({ ...access, name }, 'main', { command, stdout: true })
      let output = ''
      for await (const chunk of session.stdout!) output += chunk
      return { code: await session.exited, output }
    },
    leftovers: () => machine.leftovers(),
    async restart() {
      await kubelet[Symbol.asyncDispose]()
      kubelet = await start()
    },
    async [Symbol.asyncDispose]() {
      await kubelet[Symbol.asyncDispose]()
      for (const { id } of await runtime.listPodSandbox()) await runtime.removePodSandbox(id)
      const mounter = kernelMounter(agents)
      for (const mount of await mounter.mountsUnder(rootDir)) await mounter.unmount(mount)
      await runtime[Symbol.asyncDispose]()
      await agents[Symbol.asyncDispose]()
      await server[Symbol.asyncDispose]()
      await store[Symbol.asyncDispose]()
      await machine[Symbol.asyncDispose]()
      rmSync(rootDir, { recursive: true, force: true })
    },
  }
}

export async function until<T>(look: () => Promise<T>, wanted: (found: T) => boolean, limit = 30_000): Promise<T> {
  const end = systemClock.now() + limit
  for (;;) {
    const found = await look()
    if (wanted(found)) return found
    if (systemClock.now() > end) throw new Error(`not as wanted after ${limit} ms: ${JSON.stringify(found)}`)
    await systemClock.sleep(10)
  }
}

export const sh = (script: string) => ({ name: 'main', image: IMAGE, command: ['sh', '-c', script] })
export const isReady = (pod: Pod) =>
  pod.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') === true
export const phaseIs = (phase: string) => (pod: Pod) => pod.status?.phase === phase
export const mainOf = (pod: Pod): Partial<ContainerStatus> => pod.status?.containerStatuses?.[0] ?? {}
