import type {
  HorizontalPodAutoscaler,
  HorizontalPodAutoscalerStatus,
  HPAScalingRules,
  MetricStatus,
} from '../../api/generated/autoscaling-v2.ts'
import type { Pod } from '../../api/generated/core-v1.ts'
import { ApiError } from '../../api/meta/api-error.ts'
import { withCondition } from '../../api/meta/conditions.ts'
import type { Selector } from '../../api/meta/label-selector.ts'
import { parseLabelSelector } from '../../api/meta/label-selector-parser.ts'
import { parseApiVersion } from '../../api/meta/object.ts'
import { formatTime } from '../../api/meta/time.ts'
import type { ResourceType } from '../../client/transport.ts'
import type { ControllerContext } from '../controller.ts'
import { messageOf } from '../pod-control/pod-control.ts'
import { resourceName, type ServedTypes } from '../served-types.ts'
import type { ScalingHistory } from './behavior.ts'
import { MetricError, type MetricProposal, proposeReplicas, type ScaleView } from './metric-proposal.ts'
import { type MetricsClient, milli } from './metrics-client.ts'

/** What one look at an autoscaler works with. */
export interface PassOptions {
  readonly context: ControllerContext
  readonly autoscaler: HorizontalPodAutoscaler
  readonly metrics: MetricsClient
  readonly types: ServedTypes
  readonly history: ScalingHistory
  podsOf(selector: Selector): readonly Pod[]
  rivalOf(selector: Selector, pods: readonly Pod[]): string | undefined
}

/** autoscaling/v1 Scale */
interface Scale {
  readonly metadata?: { readonly resourceVersion?: string }
  readonly spec?: { readonly replicas?: number }
  readonly status?: { readonly replicas?: number; readonly selector?: string }
}

const TOLERANCE = 0.1
const CONFLICT_TRIES = 5

/** Stops a pass after its condition and event have been told. */
class Told extends Error {}

/** One look at an autoscaler: what its metrics ask for, what its behaviour allows, and the scaling itself. */
export class AutoscalerPass {
  status: HorizontalPodAutoscalerStatus
  readonly #options: PassOptions
  readonly #now: number

  constructor(options: PassOptions) {
    this.#options = options
    this.#now = options.context.clock.now()
    this.status = options.autoscaler.status ?? { desiredReplicas: 0 }
  }

  async run(): Promise<void> {
    try {
      await this.#scale()
    } catch (error) {
      if (!(error instanceof Told)) throw error
    }
  }

  async #scale(): Promise<void> {
    const { autoscaler, history } = this.#options
    const { minReplicas = 1, maxReplicas } = autoscaler.spec
    const target = this.#target()
    const scale = await this.#getScale(target)
    this.#condition('AbleToScale', true, {
      reason: 'SucceededGetScale',
      message: "the HPA controller was able to get the target's current scale",
    })
    const current = scale.spec?.replicas ?? 0
    history.begin(current, this.#now)
    if (current === 0) {
      const message = 'scaling is disabled since the replica count of the target is zero'
      this.#condition('ScalingActive', false, { reason: 'ScalingDisabled', message })
      this.#setReplicas(current, current, [])
    } else if (current > maxReplicas)
      await this.#rescale(target, scale, maxReplicas, 'Current number of replicas above Spec.MaxReplicas', [])
    else if (current < minReplicas)
      await this.#rescale(target, scale, minReplicas, 'Current number of replicas below Spec.MinReplicas', [])
    else await this.#scaleByMetrics(target, scale, current)
  }

  async #scaleByMetrics(target: ResourceType, scale: Scale, current: number): Promise<void> {
    const { autoscaler, history } = this.#options
    const { best, statuses } = await this.#propose(scale, current)
    const stabilized = history.stabilize(autoscaler, current, best.replicas, this.#now)
    this.#condition('AbleToScale', true, stabilized)
    const limited = history.limit(autoscaler, current, stabilized.replicas, this.#now)
    this.#condition('ScalingLimited', limited.replicas !== stabilized.replicas, limited)
    const reason = best.replicas > current ? `${best.name} above target` : 'All metrics below target'
    if (limited.replicas === current) this.#setReplicas(current, current, statuses)
    else await this.#rescale(target, scale, limited.replicas, reason, statuses)
  }

  #target(): ResourceType {
    const { autoscaler, types } = this.#options
    const { apiVersion = '', kind } = autoscaler.spec.scaleTargetRef
    const type = types.byKind(apiVersion, kind)
    const { group } = parseApiVersion(apiVersion)
    return type ?? this.#failGetScale(`no matches for kind ${JSON.stringify(kind)} in group ${JSON.stringify(group)}`)
  }

  async #getScale(target: ResourceType): Promise<Scale> {
    try {
      return await this.#readScale(target)
    } catch (error) {
      return this.#failGetScale(messageOf(error))
    }
  }

  #readScale(target: ResourceType): Promise<Scale> {
    const { autoscaler, context } = this.#options
    const { namespace = '' } = autoscaler.metadata
    const client = context.client.resource(target).namespace(namespace)
    return client.subresource('get', autoscaler.spec.scaleTargetRef.name, 'scale') as Promise<Scale>
  }

  #failGetScale(why: string): never {
    this.#tell('Warning', 'FailedGetScale', why)
    const message = `the HPA controller was unable to get the target's current scale: ${why}`
    this.#condition('AbleToScale', false, { reason: 'FailedGetScale', message })
    throw new Told(why)
  }

  /** The most that any metric asks for. Metrics that tell nothing may not make it less. */
  async #propose(scale: Scale, current: number): Promise<{ best: MetricProposal; statuses: MetricStatus[] }> {
    const { autoscaler, metrics } = this.#options
    const view = this.#view(scale, current)
    const specs = autoscaler.spec.metrics ?? []
    const proposals: MetricProposal[] = []
    const failures: MetricError[] = []
    for (const spec of specs) {
      try {
        proposals.push(await proposeReplicas(metrics, spec, view))
      } catch (error) {
        if (!(error instanceof MetricError)) throw error
        this.#tell('Warning', error.reason, error.detail)
        failures.push(error)
      }
    }
    const statuses = proposals.map(({ status }) => status)
    const [first] = failures
    const best = proposals.reduce<MetricProposal | undefined>(
      (a, b) => (a && a.replicas >= b.replicas ? a : b),
      undefined,
    )
    if (!best || (first && best.replicas < current)) {
      this.#setReplicas(current, this.status.desiredReplicas ?? 0, statuses)
      throw this.#failMetrics(first, failures.length, specs.length)
    }
    const message = `the HPA was able to successfully calculate a replica count from ${best.name}`
    this.#condition('ScalingActive', true, { reason: 'ValidMetricFound', message })
    return { best, statuses }
  }

  #failMetrics(first: MetricError | undefined, count: number, total: number): Told {
    const message = `the HPA was unable to compute the replica count: ${first?.detail ?? ''}`
    this.#condition('ScalingActive', false, { reason: first?.reason ?? '', message })
    const summary = `invalid metrics (${count} invalid out of ${total}), first error is: ${first?.message ?? ''}`
    this.#tell('Warning', 'FailedComputeMetricsReplicas', summary)
    return new Told(summary)
  }

  #view(scale: Scale, current: number): ScaleView {
    const { autoscaler, types } = this.#options
    const { scaleUp, scaleDown } = autoscaler.spec.behavior ?? {}
    const { selector, pods } = this.#pods(scale)
    return {
      autoscaler,
      specReplicas: current,
      statusReplicas: scale.status?.replicas ?? 0,
      selector,
      pods,
      tolerances: { up: toleranceOf(scaleUp), down: toleranceOf(scaleDown) },
      now: this.#now,
      resourceNameOf: ({ apiVersion = '', kind }) => {
        const type = types.byKind(apiVersion, kind)
        if (!type) throw new Error(`no matches for kind ${JSON.stringify(kind)}`)
        return resourceName(type)
      },
    }
  }

  #pods(scale: Scale): { selector: string; pods: readonly Pod[] } {
    const { podsOf, rivalOf, autoscaler } = this.#options
    const text = scale.status?.selector ?? ''
    if (text === '')
      this.#failSelector('SelectorRequired', 'selector is required', {
        reason: 'InvalidSelector',
        message: "the HPA target's scale is missing a selector",
      })
    const selector = this.#parse(text)
    const pods = podsOf(selector)
    const rival = rivalOf(selector, pods)
    if (rival !== undefined) {
      const { namespace, name } = autoscaler.metadata
      const both = [`${namespace}/${name}`, rival].sort().join(' ')
      const message = `pods by selector ${text} are controlled by more than one HPA (e.g. [${both}])`
      this.#failSelector('AmbiguousSelector', message, { reason: 'AmbiguousSelector', message })
    }
    return { selector: text, pods }
  }

  #parse(text: string): Selector {
    try {
      return parseLabelSelector(text)
    } catch (error) {
      const message = `couldn't convert selector into a corresponding internal selector object: ${messageOf(error)}`
      return this.#failSelector('InvalidSelector', message, { reason: 'InvalidSelector', message })
    }
  }

  #failSelector(event: string, what: string, condition: { reason: string; message: string }): never {
    this.#tell('Warning', event, what)
    this.#condition('ScalingActive', false, condition)
    this.#tell('Warning', 'FailedComputeMetricsReplicas', what)
    throw new Told(what)
  }

  async #rescale(
    target: ResourceType,
    scale: Scale,
    replicas: number,
    reason: string,
    statuses: MetricStatus[],
  ): Promise<void> {
    const { autoscaler, history } = this.#options
    const current = scale.spec?.replicas ?? 0
    try {
      await this.#writeScale(target, scale, replicas)
    } catch (error) {
      const why = messageOf(error)
      this.#tell('Warning', 'FailedRescale', `New size: ${replicas}; reason: ${reason}; error: ${why}`)
      const message = `the HPA controller was unable to update the target scale: ${why}`
      this.#condition('AbleToScale', false, { reason: 'FailedUpdateScale', message })
      this.#setReplicas(current, this.status.desiredReplicas ?? 0, statuses)
      return
    }
    const message = `the HPA controller was able to update the target scale to ${replicas}`
    this.#condition('AbleToScale', true, { reason: 'SucceededRescale', message })
    this.#tell('Normal', 'SuccessfulRescale', `New size: ${replicas}; reason: ${reason}`)
    if (autoscaler.spec.behavior) history.scaled(current, replicas, this.#now)
    this.#setReplicas(current, replicas, statuses)
    this.status = { ...this.status, lastScaleTime: formatTime(this.#now) }
  }

  /** Somebody else may write the target at the same time. */
  async #writeScale(target: ResourceType, scale: Scale, replicas: number): Promise<void> {
    const { autoscaler, context } = this.#options
    const { name } = autoscaler.spec.scaleTargetRef
    const client = context.client.resource(target).namespace(autoscaler.metadata.namespace ?? '')
    let latest = scale
    for (let attempt = 1; ; attempt++) {
      try {
        await client.subresource('update', name, 'scale', { ...latest, spec: { ...latest.spec, replicas } })
        return
      } catch (error) {
        if (!(error instanceof ApiError) || error.code !== 409 || attempt === CONFLICT_TRIES) throw error
        latest = await this.#readScale(target)
      }
    }
  }

  #setReplicas(currentReplicas: number, desiredReplicas: number, currentMetrics: MetricStatus[]): void {
    const { lastScaleTime, conditions } = this.status
    this.status = {
      currentReplicas,
      desiredReplicas,
      ...(lastScaleTime && { lastScaleTime }),
      ...(currentMetrics.length > 0 && { currentMetrics }),
      ...(conditions && { conditions }),
    }
  }

  #condition(type: string, isTrue: boolean, { reason, message }: { reason: string; message: string }): void {
    const condition = { type, status: isTrue ? 'True' : 'False', reason, message }
    const conditions = [...withCondition(this.status.conditions, condition, formatTime(this.#now))]
    this.status = { ...this.status, conditions }
  }

  #tell(type: 'Normal' | 'Warning', reason: string, message: string): void {
    this.#options.context.events.event(this.#options.autoscaler, type, reason, message)
  }
}

const toleranceOf = (rules: HPAScalingRules | undefined) =>
  rules?.tolerance === undefined ? TOLERANCE : (milli(rules.tolerance) ?? TOLERANCE * 1000) / 1000
