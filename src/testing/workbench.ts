import type { Pod } from '../api/generated/core-v1.ts'
import type { Kind } from '../api/kind.ts'
import { podKind } from '../api/kinds/core/pod/kind.ts'
import type { KubernetesObject } from '../api/meta/object.ts'
import { formatTime } from '../api/meta/time.ts'
import { VirtualClock } from '../base/virtual-clock.ts'
import { createClient, type ResourceClient } from '../client/client.ts'
import type { Transport } from '../client/transport.ts'
import type { Controller, ControllerContext } from '../controllers/controller.ts'
import { type ControlPlane, startControlPlane } from './control-plane.ts'

/** Controllers on a real API server and a virtual clock, and hands that do to pods what nodes would do. */
export interface Workbench extends AsyncDisposable {
  readonly plane: ControlPlane
  readonly clock: VirtualClock
  resource<T extends KubernetesObject>(kind: Kind<T>): ResourceClient<T>
  /** All pods, by name. */
  pods(): Promise<Pod[]>
  /** Until nothing happens any more; retries after lost races included. */
  settle(): Promise<void>
  advance(milliseconds: number): Promise<void>
  setStatus(pod: Pod, status: Partial<Pod['status']>): Promise<void>
  makeReady(pods?: readonly Pod[]): Promise<void>
  makeUnready(pods: readonly Pod[]): Promise<void>
  /** What a node does to pods that are being deleted. */
  finishTerminating(): Promise<void>
  /** Like a node: makes pods ready and lets terminating ones go, until nothing happens any more. */
  runPods(rounds?: number): Promise<void>
}

/** So many milliseconds cover the first retries of a queue. */
const RETRIES = 200

export async function startWorkbench(
  controllers: readonly ((context: ControllerContext) => Controller)[],
): Promise<Workbench> {
  const clock = new VirtualClock()
  const plane = await startControlPlane({ clock, controllers })
  const podsOfDefault = plane.client.resource(podKind).namespace('default')
  const bench: Workbench = {
    plane,
    clock,
    resource: (kind) => plane.client.resource(kind).namespace('default'),
    async pods() {
      const { items } = await podsOfDefault.list()
      return [...items].sort((a, b) => (a.metadata.name! < b.metadata.name! ? -1 : 1))
    },
    async settle() {
      await plane.settled()
      await bench.advance(RETRIES)
    },
    async advance(milliseconds) {
      await clock.advanceAsync(milliseconds)
      await plane.settled()
    },
    async setStatus(pod, status) {
      await podsOfDefault.patch(pod.metadata.name!, { status }, { subresource: 'status' })
    },
    async makeReady(pods) {
      for (const pod of pods ?? (await bench.pods())) await bench.setStatus(pod, readyStatus(clock, 'True'))
      await bench.settle()
    },
    async makeUnready(pods) {
      for (const pod of pods) await bench.setStatus(pod, readyStatus(clock, 'False'))
      await bench.settle()
    },
    async finishTerminating() {
      for (const pod of await bench.pods())
        if (pod.metadata.deletionTimestamp) await podsOfDefault.delete(pod.metadata.name!, { gracePeriodSeconds: 0 })
      await bench.settle()
    },
    async runPods(rounds = 30) {
      await bench.settle()
      for (let round = 0; round < rounds; round++) {
        await bench.finishTerminating()
        const unready = (await bench.pods()).filter((pod) => pod.status?.phase === 'Pending')
        if (unready.length === 0) return
        await bench.makeReady(unready)
      }
    },
    [Symbol.asyncDispose]: () => plane[Symbol.asyncDispose](),
  }
  return bench
}

function readyStatus(clock: VirtualClock, status: 'True' | 'False'): Partial<Pod['status']> {
  const conditions = [{ type: 'Ready', status, lastTransitionTime: formatTime(clock.now()) }]
  return { phase: 'Running', conditions }
}

/** A template of one container, by default on no node: such pods vanish at once when they are deleted. */
export function template(labels: Record<string, string>, image = 'app:1', nodeName?: string) {
  const spec = { containers: [{ name: 'app', image }], ...(nodeName && { nodeName }) }
  return { metadata: { labels }, spec }
}

/** A controller that reaches the API by another way: one that fails, or is slow, or stops answering. */
export function withTransport(
  create: (context: ControllerContext) => Controller,
  wrap: (transport: Transport) => Transport,
): (context: ControllerContext) => Controller {
  return (context) => create({ ...context, client: createClient(wrap(context.client.transport)) })
}
