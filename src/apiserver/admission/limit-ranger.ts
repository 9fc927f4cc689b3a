import type { Container, LimitRange, PersistentVolumeClaim, Pod, PodSpec } from '../../api/generated/core-v1.ts'
import { qosClass } from '../../api/kinds/core/pod/qos.ts'
import { aggregateLimits, aggregateRequests, type ResourceList } from '../../api/kinds/core/pod/resources.ts'
import { forbiddenAccess } from '../../api/meta/api-error.ts'
import { type Amounts, brokenClaimConstraints, brokenConstraints } from './limit-constraints.ts'
import type { Lister } from './lister.ts'
import type { AdmissionPlugin, AdmissionRequest } from './plugin.ts'

const ANNOTATION = 'kubernetes.io/limit-ranger'
/** What a pod can ask for as a whole, in place of the sum of its containers. */
const POD_LEVEL = ['cpu', 'memory']

/** Containers get the amounts of the namespace's LimitRanges where they name none; then all must be within them. */
export function limitRanger(limitRanges: Lister<LimitRange>): AdmissionPlugin {
  const setDefaults = ({ draft, operation }: AdmissionRequest, ranges: readonly LimitRange[]) => {
    const pod = draft as Pod
    let changed = false
    for (const range of ranges) changed = defaultResources(pod, range) || changed
    if (changed && operation === 'CREATE') pod.status = { ...pod.status, qosClass: qosClass(pod.spec!) }
  }
  const mustKeepLimits = ({ kind, draft, name }: AdmissionRequest, ranges: readonly LimitRange[]) => {
    for (const range of ranges) {
      const broken = kind.plural === 'pods' ? brokenByPod(draft as Pod, range) : brokenByClaim(draft!, range)
      if (broken.length > 0) throw forbiddenAccess({ group: '', resource: kind.plural }, name, together(broken))
    }
  }
  const withRanges = (request: AdmissionRequest, work: typeof setDefaults) => {
    const ranges = limitRanges.list(request.namespace)
    if (ranges instanceof Promise) return ranges.then((found) => work(request, found))
    work(request, ranges)
  }
  return {
    name: 'LimitRanger',
    resources: ['pods', 'persistentvolumeclaims'],
    admit: (request) =>
      isLimited(request) && request.kind.plural === 'pods' ? withRanges(request, setDefaults) : undefined,
    validate: (request) => (isLimited(request) ? withRanges(request, mustKeepLimits) : undefined),
  }
}

/** New pods, resized pods and claims, unless they are on their way out. */
function isLimited({ kind, operation, subresource, draft, old }: AdmissionRequest): boolean {
  const isPod = kind.plural === 'pods'
  if ((!isPod && kind.plural !== 'persistentvolumeclaims') || kind.group !== '' || !draft) return false
  if (operation === 'CREATE') return subresource === ''
  if (operation !== 'UPDATE' || old?.metadata.deletionTimestamp) return false
  return subresource === (isPod ? 'resize' : '')
}

function defaultResources(pod: Pod, { spec }: LimitRange): boolean {
  const items = spec?.limits?.filter(({ type }) => type === 'Container') ?? []
  if (items.length === 0 || !pod.spec) return false
  const limits: ResourceList = Object.assign({}, ...items.map((item) => item.default))
  const requests: ResourceList = Object.assign({}, ...items.map((item) => item.defaultRequest))
  const done: string[] = []
  for (const container of pod.spec.containers) setResources(container, 'container', { limits, requests }, done)
  for (const container of pod.spec.initContainers ?? [])
    setResources(container, 'init container', { limits, requests }, done)
  if (done.length === 0) return false
  pod.metadata.annotations = {
    ...pod.metadata.annotations,
    [ANNOTATION]: `LimitRanger plugin set: ${done.join('; ')}`,
  }
  return true
}

function setResources(container: Container, word: string, defaults: Required<Amounts>, done: string[]): void {
  for (const field of ['requests', 'limits'] as const) {
    const own = container.resources?.[field] ?? {}
    const names = Object.keys(defaults[field] ?? {}).filter((name) => !Object.hasOwn(own, name))
    if (names.length === 0) continue
    container.resources = { ...container.resources, [field]: { ...defaults[field], ...own } }
    done.push(`${names.sort().join(', ')} ${field.slice(0, -1)} for ${word} ${container.name}`)
  }
}

function brokenByPod({ spec }: Pod, range: LimitRange): string[] {
  if (!spec) return []
  const containers = [...spec.containers, ...(spec.initContainers ?? [])]
  return (range.spec?.limits ?? []).flatMap((item) => {
    if (item.type === 'Container')
      return containers.flatMap(({ resources }) => brokenConstraints(item, resources ?? {}))
    return item.type === 'Pod' ? brokenConstraints(item, amountsOf(spec)) : []
  })
}

function amountsOf(spec: PodSpec): Amounts {
  const requests: ResourceList = Object.fromEntries(aggregateRequests(spec))
  const limits: ResourceList = Object.fromEntries(aggregateLimits(spec))
  for (const name of POD_LEVEL) {
    const { requests: request, limits: limit } = spec.resources ?? {}
    if (request?.[name] !== undefined) requests[name] = request[name]
    if (limit?.[name] !== undefined) limits[name] = limit[name]
  }
  return { requests, limits }
}

function brokenByClaim(claim: PersistentVolumeClaim, range: LimitRange): string[] {
  const requests = claim.spec?.resources?.requests
  const items = (range.spec?.limits ?? []).filter(({ type }) => type === 'PersistentVolumeClaim')
  return items.flatMap((item) => brokenClaimConstraints(item, requests))
}

function together(messages: readonly string[]): string {
  const distinct = [...new Set(messages)]
  return distinct.length === 1 ? distinct[0]! : `[${distinct.join(', ')}]`
}
