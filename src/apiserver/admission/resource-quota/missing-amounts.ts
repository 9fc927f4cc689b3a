import type { Container, PodSpec } from '../../../api/generated/core-v1.ts'

/** Of these a quota can only count what every container names. */
const REQUIRED: Readonly<Record<string, readonly [field: 'requests' | 'limits', resource: string] | undefined>> = {
  cpu: ['requests', 'cpu'],
  memory: ['requests', 'memory'],
  'requests.cpu': ['requests', 'cpu'],
  'requests.memory': ['requests', 'memory'],
  'limits.cpu': ['limits', 'cpu'],
  'limits.memory': ['limits', 'memory'],
}

/** Which amounts that a quota limits are left open by which containers: `limits.cpu for: a,b; memory for: a`. */
export function missingAmounts(spec: PodSpec, limited: readonly string[]): string | undefined {
  // What the pod asks for as a whole stands for all of its containers.
  if (hasAmounts(spec.resources?.requests) || hasAmounts(spec.resources?.limits)) return undefined
  const containers = [...spec.containers, ...(spec.initContainers ?? [])]
  const parts: string[] = []
  for (const name of [...limited].sort()) {
    const lacking = containers.filter((container) => lacks(container, name)).map((container) => container.name)
    if (lacking.length > 0) parts.push(`${name} for: ${[...new Set(lacking)].sort().join(',')}`)
  }
  return parts.length > 0 ? parts.join('; ') : undefined
}

function lacks({ resources }: Container, name: string): boolean {
  const required = REQUIRED[name]
  return required !== undefined && !Object.hasOwn(resources?.[required[0]] ?? {}, required[1])
}

const hasAmounts = (list: object | undefined) => list !== undefined && Object.keys(list).length > 0
