import type { HorizontalPodAutoscaler, HPAScalingRules } from '../../api/generated/autoscaling-v2.ts'

/** A count of replicas and what was said about it. */
export interface Verdict {
  readonly replicas: number
  readonly reason: string
  readonly message: string
}

interface Timed {
  readonly time: number
  readonly value: number
}

const DOWNSCALE_WINDOW = 5 * 60_000
/** An autoscaler's memory has at most so long. */
const LONGEST_WINDOW = 3600_000

const WITHIN_RANGE = { reason: 'DesiredWithinRange', message: 'the desired count is within the acceptable range' }
const TOO_MANY = {
  reason: 'TooManyReplicas',
  message: 'the desired replica count is more than the maximum replica count',
}
const TOO_FEW = {
  reason: 'TooFewReplicas',
  message: 'the desired replica count is less than the minimum replica count',
}
const UP_LIMIT = {
  reason: 'ScaleUpLimit',
  message: 'the desired replica count is increasing faster than the maximum scale rate',
}
const DOWN_LIMIT = {
  reason: 'ScaleDownLimit',
  message: 'the desired replica count is decreasing faster than the maximum scale rate',
}
const READY = { reason: 'ReadyForNewScale', message: 'recommended size matches current size' }
const UP_STABILIZED = {
  reason: 'ScaleUpStabilized',
  message: 'recent recommendations were lower than current one, applying the lowest recent recommendation',
}
const DOWN_STABILIZED = {
  reason: 'ScaleDownStabilized',
  message: 'recent recommendations were higher than current one, applying the highest recent recommendation',
}

/** What an autoscaler recommended and did lately, from which its pace follows. */
export class ScalingHistory {
  #recommendations: Timed[] = []
  #ups: Timed[] = []
  #downs: Timed[] = []

  /** The first thing known of a target is its size: it is not scaled down before the window has passed. */
  begin(current: number, now: number): void {
    if (this.#recommendations.length === 0) this.#recommendations.push({ time: now, value: current })
  }

  scaled(from: number, to: number, now: number): void {
    if (to > from) this.#ups = [...recent(this.#ups, now), { time: now, value: to - from }]
    else this.#downs = [...recent(this.#downs, now), { time: now, value: from - to }]
  }

  /** The recommendation that holds, given those before. */
  stabilize(autoscaler: HorizontalPodAutoscaler, current: number, desired: number, now: number): Verdict {
    const { behavior } = autoscaler.spec
    const upWindow = (behavior?.scaleUp?.stabilizationWindowSeconds ?? 0) * 1000
    const seconds = behavior?.scaleDown?.stabilizationWindowSeconds
    const downWindow = seconds === undefined ? DOWNSCALE_WINDOW : seconds * 1000
    let lowest = desired
    let highest = desired
    for (const { time, value } of this.#recommendations) {
      if (time > now - upWindow) lowest = Math.min(lowest, value)
      if (time > now - downWindow) highest = Math.max(highest, value)
    }
    this.#recommendations = [...recent(this.#recommendations, now), { time: now, value: desired }]
    const replicas = behavior ? Math.min(Math.max(current, lowest), highest) : highest
    const stabilized = desired >= current && behavior ? UP_STABILIZED : DOWN_STABILIZED
    return { replicas, ...(replicas === desired ? READY : stabilized) }
  }

  /** As many of the desired replicas as limits and pace allow. */
  limit(autoscaler: HorizontalPodAutoscaler, current: number, desired: number, now: number): Verdict {
    const { behavior, minReplicas = 1, maxReplicas } = autoscaler.spec
    const rate = behavior
      ? this.#rate(behavior.scaleUp ?? {}, behavior.scaleDown ?? {}, current, desired, now)
      : { up: Math.max(2 * current, 4), down: Number.NEGATIVE_INFINITY }
    const isUp = behavior ? desired > current : true
    const isDown = behavior ? desired < current : true
    const maximum = Math.min(maxReplicas, rate.up)
    const minimum = Math.max(minReplicas, rate.down)
    if (isDown && desired < minimum) return { replicas: minimum, ...(rate.down > minReplicas ? DOWN_LIMIT : TOO_FEW) }
    if (isUp && desired > maximum) return { replicas: maximum, ...(maxReplicas > rate.up ? UP_LIMIT : TOO_MANY) }
    return { replicas: desired, ...WITHIN_RANGE }
  }

  #rate(scaleUp: HPAScalingRules, scaleDown: HPAScalingRules, current: number, desired: number, now: number) {
    const startOf = (seconds: number) =>
      current - changeWithin(this.#ups, seconds, now) + changeWithin(this.#downs, seconds, now)
    if (desired > current) {
      const limits = (scaleUp.policies ?? []).map(({ type, value, periodSeconds }) => {
        const start = startOf(periodSeconds)
        return type === 'Pods' ? start + value : Math.ceil(start * (1 + value / 100))
      })
      const up = chosen(scaleUp, limits, current, Math.min, Math.max)
      return { up: Math.max(up, current), down: Number.NEGATIVE_INFINITY }
    }
    const limits = (scaleDown.policies ?? []).map(({ type, value, periodSeconds }) => {
      const start = startOf(periodSeconds)
      return type === 'Pods' ? start - value : Math.trunc(start * (1 - value / 100))
    })
    const down = chosen(scaleDown, limits, current, Math.max, Math.min)
    return { up: Number.POSITIVE_INFINITY, down: Math.min(down, current) }
  }
}

type Select = (...values: number[]) => number

/** The policy that allows the least change, or the most. */
function chosen(rules: HPAScalingRules, limits: number[], current: number, least: Select, most: Select): number {
  if (rules.selectPolicy === 'Disabled') return current
  return rules.selectPolicy === 'Min' ? least(...limits) : most(...limits)
}

function changeWithin(changes: readonly Timed[], seconds: number, now: number): number {
  return changes.reduce((sum, { time, value }) => (time > now - seconds * 1000 ? sum + value : sum), 0)
}

const recent = (list: readonly Timed[], now: number) => list.filter(({ time }) => time >= now - LONGEST_WINDOW)
