import type { HorizontalPodAutoscaler } from '../../api/generated/autoscaling-v2.ts'
import type { Pod } from '../../api/generated/core-v1.ts'
import { horizontalPodAutoscalerKind } from '../../api/kinds/autoscaling/horizontal-pod-autoscaler/kind.ts'
import { podKind } from '../../api/kinds/core/pod/kind.ts'
import { matchesLabels, type Selector } from '../../api/meta/label-selector.ts'
import { deepEqual } from '../../base/deep-equal.ts'
import { getOrCreate } from '../../base/get-or-create.ts'
import { byNamespace, type Informer } from '../../client/informer.ts'
import { type Controller, type ControllerContext, ownKey, type ReconcileResult, watch } from '../controller.ts'
import { LastWritten } from '../job/last-written.ts'
import { type ServedTypes, servedTypes } from '../served-types.ts'
import { ScalingHistory } from './behavior.ts'
import { MetricsClient } from './metrics-client.ts'
import { AutoscalerPass } from './reconcile.ts'

const SYNC_PERIOD = 15_000

/** Scales workloads so that their metrics come to their targets. */
export function horizontalPodAutoscalerController(context: ControllerContext): Controller {
  return new HorizontalPodAutoscalerController(context)
}

class HorizontalPodAutoscalerController implements Controller {
  readonly name = 'horizontal-pod-autoscaler-controller'
  readonly workers = 5
  readonly watches
  readonly #context: ControllerContext
  readonly #autoscalers: Informer<HorizontalPodAutoscaler>
  readonly #pods: Informer<Pod>
  readonly #types: ServedTypes
  readonly #metrics: MetricsClient
  readonly #written = new LastWritten<HorizontalPodAutoscaler>()
  readonly #histories = new Map<string, ScalingHistory>()
  /** Which pods each autoscaler is about, by namespace and key. */
  readonly #selectors = new Map<string, Map<string, Selector>>()

  constructor(context: ControllerContext) {
    this.#context = context
    this.#autoscalers = context.informers.informer(horizontalPodAutoscalerKind)
    this.#pods = context.informers.informer(podKind, { indexes: { namespace: byNamespace } })
    this.#types = servedTypes(context.informers)
    this.#metrics = new MetricsClient(context.client)
    this.watches = [
      // Its own status changes are no reason to look again.
      watch(this.#autoscalers, (old, current) =>
        old && current && deepEqual(old.spec, current.spec) ? [] : ownKey(old, current),
      ),
      watch(this.#pods, () => []),
      watch(this.#types.definitions, () => []),
    ]
  }

  async reconcile(key: string): Promise<ReconcileResult | void> {
    const autoscaler = this.#written.newest(key, this.#autoscalers.get(key))
    if (!autoscaler) return this.#forget(key)
    const { namespace = '' } = autoscaler.metadata
    const pass = new AutoscalerPass({
      context: this.#context,
      autoscaler,
      metrics: this.#metrics,
      types: this.#types,
      history: getOrCreate(this.#histories, key, () => new ScalingHistory()),
      podsOf: (selector) => this.#podsOf(namespace, selector),
      rivalOf: (selector, pods) => this.#rivalOf(namespace, key, selector, pods),
    })
    await pass.run()
    if (!deepEqual(pass.status, autoscaler.status)) {
      const client = this.#context.client.resource(horizontalPodAutoscalerKind).namespace(namespace)
      this.#written.set(key, await client.updateStatus({ ...autoscaler, status: pass.status }))
    }
    return { retryAfter: SYNC_PERIOD }
  }

  #podsOf(namespace: string, selector: Selector): Pod[] {
    return this.#pods.byIndex('namespace', namespace).filter(({ metadata }) => matchesLabels(selector, metadata.labels))
  }

  /** Another autoscaler that is about some of the same pods. */
  #rivalOf(namespace: string, key: string, selector: Selector, pods: readonly Pod[]): string | undefined {
    const selectors = getOrCreate(this.#selectors, namespace, () => new Map<string, Selector>())
    selectors.set(key, selector)
    for (const [other, theirs] of selectors)
      if (other !== key && pods.some(({ metadata }) => matchesLabels(theirs, metadata.labels))) return other
    return undefined
  }

  #forget(key: string): void {
    this.#histories.delete(key)
    for (const selectors of this.#selectors.values()) selectors.delete(key)
  }
}
