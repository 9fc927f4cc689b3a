import type { GroupView } from '../plugin.ts'
import type { WeightedRules } from './compiled-rules.ts'

/** A group to be scored; `NodeGroup` is one, a part of a group another. */
export interface ScoredGroup extends GroupView {
  total: number
  readonly raw: number[]
}

/** Fills in what each group's nodes get from the plugins that compare nodes with each other. */
export function scoreGroups(scorers: readonly WeightedRules[], groups: readonly ScoredGroup[]): void {
  for (const group of groups) group.total = 0
  for (let s = 0; s < scorers.length; s++) {
    const { rules, weight } = scorers[s]!
    rules.beginScore?.(groups)
    let least = Number.POSITIVE_INFINITY
    let greatest = Number.NEGATIVE_INFINITY
    for (let g = 0; g < groups.length; g++) {
      const group = groups[g]!
      const score = rules.scoreGroup!(group.node)
      group.raw[s] = score
      if (score < least) least = score
      if (score > greatest) greatest = score
    }
    for (let g = 0; g < groups.length; g++) {
      const group = groups[g]!
      const score = group.raw[s]!
      group.total += weight * (rules.normalize ? rules.normalize(score, least, greatest) : score)
    }
  }
}
