import type { Container, Pod, Probe } from '../../api/generated/core-v1.ts'
import { isSidecar } from '../../api/kinds/core/pod/resources.ts'
import type { Clock } from '../../base/clock.ts'
import type { ProbeVerdicts } from '../pod/pod-actions.ts'
import { latestOf, type RuntimeContainer, type RuntimePod, readySandbox } from '../pod/runtime-pod.ts'
import type { ProbeStates } from '../status/pod-status.ts'
import { ProbeLoop, type ProbeResult, type ProbeType } from './probe-loop.ts'
import type { ProbeContext, ProbeOutcome } from './run-probe.ts'

export interface PodProbesOptions {
  readonly context: ProbeContext
  readonly clock: Clock
  readonly hostIP: () => string
  /** A result changed: readiness needs a new status, the others need the pod looked at. */
  readonly onChange: (type: ProbeType) => void
  readonly onUnhealthy: (container: Container, type: ProbeType, outcome: ProbeOutcome | Error) => void
}

type Loops = Partial<Record<ProbeType, ProbeLoop>>

/** The probes of one pod: a loop for each probe of each container that runs. */
export class PodProbes implements ProbeStates {
  readonly #options: PodProbesOptions
  readonly #loops = new Map<string, Loops>()
  #isTerminating = false

  constructor(options: PodProbesOptions) {
    this.#options = options
  }

  /** Starts the loops of containers that have come up, ends those of containers that are gone. */
  sync(pod: Pod, runtime: RuntimePod): void {
    const running = new Set<string>()
    const podIP = pod.spec?.hostNetwork ? this.#options.hostIP() : (readySandbox(runtime)?.ips[0] ?? '')
    for (const container of probed(pod)) {
      const status = latestOf(runtime, container.name)
      if (status?.state !== 'RUNNING') continue
      running.add(status.id)
      if (!this.#loops.has(status.id)) this.#start(container, status, podIP, knownOf(pod, status))
    }
    for (const [id, loops] of this.#loops) {
      if (running.has(id)) continue
      stopAll(loops)
      this.#loops.delete(id)
    }
  }

  /** A pod that is being stopped is not killed for its health, but may still stop being ready. */
  terminate(): void {
    this.#isTerminating = true
    for (const { Liveness, Startup } of this.#loops.values()) {
      Liveness?.stop()
      Startup?.stop()
    }
  }

  stop(): void {
    for (const loops of this.#loops.values()) stopAll(loops)
    this.#loops.clear()
  }

  readonly verdicts: ProbeVerdicts = {
    liveness: (id) => this.#loops.get(id)?.Liveness?.result,
    startup: (id) => this.#loops.get(id)?.Startup?.result,
  }

  startup(containerId: string): boolean | undefined {
    return passed(this.#loops.get(containerId)?.Startup)
  }

  readiness(containerId: string): boolean | undefined {
    return passed(this.#loops.get(containerId)?.Readiness)
  }

  #start(container: Container, status: RuntimeContainer, podIP: string, known: Known): void {
    const loops: Loops = {}
    this.#loops.set(status.id, loops)
    const add = (type: ProbeType, probe: Probe | undefined) => {
      if (!probe || (this.#isTerminating && type !== 'Readiness')) return
      loops[type] = this.#loop(type, probe, container, status, podIP, loops, known[type])
    }
    add('Startup', container.startupProbe)
    add('Liveness', container.livenessProbe)
    add('Readiness', container.readinessProbe)
  }

  #loop(
    type: ProbeType,
    probe: Probe,
    container: Container,
    status: RuntimeContainer,
    podIP: string,
    loops: Loops,
    known: ProbeResult | undefined,
  ) {
    const { context, clock, onChange, onUnhealthy } = this.#options
    return new ProbeLoop({
      type,
      probe,
      target: { container, containerId: status.id, podIP },
      context,
      clock,
      ...(known && { known }),
      startedAt: status.startedAt ?? status.createdAt,
      mayRun: () => type === 'Startup' || loops.Startup === undefined || loops.Startup.result === 'Success',
      onResult: (result) => {
        if (type === 'Startup' && result === 'Success') {
          loops.Liveness?.trigger()
          loops.Readiness?.trigger()
        }
        onChange(type)
      },
      onOutcome: (kind, outcome) => onUnhealthy(container, kind, outcome),
    })
  }
}

type Known = Partial<Record<ProbeType, ProbeResult>>

/** A container that was ready before this process came stays so until a probe says otherwise: its traffic goes on. */
function knownOf({ status }: Pod, { id }: RuntimeContainer): Known {
  const all = [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])]
  const before = all.find(({ containerID }) => containerID?.endsWith(`//${id}`))
  return { ...(before?.started && { Startup: 'Success' }), ...(before?.ready && { Readiness: 'Success' }) }
}

/** Undefined: there is no such probe. */
const passed = (loop: ProbeLoop | undefined) => (loop ? loop.result === 'Success' : undefined)

const stopAll = (loops: Loops) => {
  for (const loop of Object.values(loops)) loop.stop()
}

function* probed({ spec }: Pod): Iterable<Container> {
  for (const container of spec?.initContainers ?? []) if (isSidecar(container)) yield container
  yield* spec?.containers ?? []
}
