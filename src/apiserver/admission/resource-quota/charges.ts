import type { Pod, ResourceQuota } from '../../../api/generated/core-v1.ts'
import { matchesScopes } from '../../../api/kinds/core/quota/scopes.ts'
import { type MeasuredType, measuredBy, type Usage, usageOf } from '../../../api/kinds/core/quota/usage.ts'
import { quantityIn, type ResourceList } from '../../../api/kinds/core/resource-list.ts'
import type { KubernetesObject } from '../../../api/meta/object.ts'
import {
  addQuantities,
  compareQuantities,
  formatQuantity,
  isNegative,
  isZero,
  type Quantity,
  subtractQuantities,
} from '../../../api/meta/quantity.ts'
import { missingAmounts } from './missing-amounts.ts'

/** An object that is about to be stored, as a quota sees it. */
export interface Charged {
  readonly type: MeasuredType
  readonly draft: KubernetesObject
  readonly old: KubernetesObject | undefined
  /** What already is so is only counted: a status tells of it. */
  readonly isStatus: boolean
}

/** What a quota's `status.used` becomes with the object, or why the object is refused. */
export type Verdict = { readonly used: Record<string, string> } | { readonly refusal: string } | undefined

/** Looks at one quota of the object's namespace. Undefined: the object changes nothing of what it counts. */
export function verdictOf(quota: ResourceQuota, charged: Charged, now: number): Verdict {
  const { type, draft } = charged
  const hard = quota.status?.hard
  const names = Object.keys(hard ?? {}).filter((name) => isMeasuredBy(name, type))
  if (names.length === 0 || !matchesScopes(quota.spec, type, draft)) return undefined
  const { name: quotaName = '' } = quota.metadata
  const missing = type.group === '' && type.plural === 'pods' ? missingAmounts((draft as Pod).spec!, names) : undefined
  if (missing) return { refusal: `failed quota: ${quotaName}: must specify ${missing}` }
  const used = quota.status?.used ?? {}
  if (names.some((name) => !Object.hasOwn(used, name)))
    return { refusal: `status unknown for quota: ${quotaName}, resources: ${names.sort().join(',')}` }
  const usage = usageOf(type, draft, now)
  const negative = [...usage].filter(([, amount]) => isNegative(amount)).map(([name]) => name)
  if (negative.length > 0) return { refusal: `quota usage is negative for resource(s): ${negative.sort().join(',')}` }
  return add(quota, increase(quota, charged, usage, now), charged.isStatus)
}

function isMeasuredBy(name: string, { group, plural }: MeasuredType): boolean {
  const type = measuredBy(name)
  return type.plural === plural && type.group === group
}

/** An update pays for what is more than before; if the quota did not know the object before, for all of it. */
function increase(quota: ResourceQuota, { type, old }: Charged, usage: Usage, now: number): Usage {
  if (!old || !matchesScopes(quota.spec, type, old)) return usage
  const before = usageOf(type, old, now)
  const more: Usage = new Map()
  for (const [name, amount] of usage) {
    const known = before.get(name)
    const difference = known ? subtractQuantities(amount, known) : amount
    if (!isNegative(difference)) more.set(name, difference)
  }
  return more
}

function add({ metadata, status }: ResourceQuota, more: Usage, isStatus: boolean): Verdict {
  const { hard = {}, used = {} } = status ?? {}
  const after: Record<string, string> = {}
  const exceeded: string[] = []
  for (const [name, amount] of more) {
    if (!Object.hasOwn(hard, name) || isZero(amount)) continue
    const sum = addQuantities(quantityIn(used, name)!, amount)
    after[name] = formatQuantity(sum)
    if (!isStatus && compareQuantities(sum, quantityIn(hard, name)!) > 0) exceeded.push(name)
  }
  if (exceeded.length > 0) return { refusal: exceededText(metadata.name ?? '', exceeded.sort(), more, used, hard) }
  return Object.keys(after).length === 0 ? undefined : { used: { ...(used as Record<string, string>), ...after } }
}

function exceededText(
  quota: string,
  names: readonly string[],
  more: Usage,
  used: ResourceList,
  hard: ResourceList,
): string {
  const shown = (amountOf: (name: string) => Quantity | undefined) =>
    names.map((name) => `${name}=${formatQuantity(amountOf(name)!)}`).join(',')
  const [asked, had, limit] = [
    shown((name) => more.get(name)),
    shown((name) => quantityIn(used, name)),
    shown((name) => quantityIn(hard, name)),
  ]
  return `exceeded quota: ${quota}, requested: ${asked}, used: ${had}, limited: ${limit}`
}
