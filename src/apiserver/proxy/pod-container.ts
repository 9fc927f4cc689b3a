import type { Pod } from '../../api/generated/core-v1.ts'
import { badRequest } from '../../api/meta/api-error.ts'

/** The container that was named, or the only one there is. */
export function askedContainer({ metadata, spec }: Pod, name: string): string {
  const { containers = [], initContainers = [], ephemeralContainers = [] } = spec ?? {}
  const names = [...initContainers, ...containers, ...ephemeralContainers].map((container) => container.name)
  if (name !== '') {
    if (!names.includes(name)) throw badRequest(`container ${name} is not valid for pod ${metadata.name}`)
    return name
  }
  const [only] = containers
  if (only && containers.length === 1) return only.name
  const choice = only ? `, choose one of: [${names.join(' ')}]` : ''
  throw badRequest(`a container name must be specified for pod ${metadata.name}${choice}`)
}
