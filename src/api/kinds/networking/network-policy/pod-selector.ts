import type { LabelSelector } from '../../../generated/meta-v1.ts'
import { compileLabelSelector, formatSelector } from '../../../meta/label-selector.ts'

/** As kubectl prints a selector: the empty one selects every pod and shows as `<none>`. */
export function formatPodSelector(selector: LabelSelector | undefined): string {
  try {
    return formatSelector(compileLabelSelector(selector ?? {})) || '<none>'
  } catch {
    return '<error>'
  }
}
