import type { KubernetesObject } from '../../api/meta/object.ts'
import type { Lister } from './lister.ts'

/** Finds the newest of the classes that are marked as default; of those made in the same second, the first by name. */
export function defaultClassFinder<T extends KubernetesObject>(
  classes: Lister<T>,
  isDefault: (object: T) => boolean,
): () => Promise<T | undefined> {
  let seen: readonly T[] | undefined
  let found: T | undefined
  return async () => {
    const all = await classes.list()
    if (all !== seen) {
      seen = all
      found = all.filter(isDefault).sort(newestFirst)[0]
    }
    return found
  }
}

function newestFirst({ metadata: a }: KubernetesObject, { metadata: b }: KubernetesObject): number {
  const [left, right] = [a.creationTimestamp ?? '', b.creationTimestamp ?? '']
  if (left !== right) return left < right ? 1 : -1
  return (a.name ?? '') < (b.name ?? '') ? -1 : 1
}
