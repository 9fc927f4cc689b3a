import type { KubernetesObject } from '../../api/meta/object.ts'
import type { Client } from '../../client/client.ts'
import type { ServedType } from '../served-types.ts'

/** What is left in a namespace after everything was told to go. */
export interface RemainingContent {
  /** How many objects, by type. */
  readonly objects: Map<ServedType, number>
  /** How many objects each finalizer holds. */
  readonly finalizers: Map<string, number>
  readonly errors: Error[]
}

export const hasRemaining = ({ objects }: RemainingContent) => objects.size > 0

/** Pods go first (KEP-5080): nothing they rely on, such as a NetworkPolicy, may vanish while they still run. */
export async function deleteContent(
  client: Client,
  types: readonly ServedType[],
  namespace: string,
): Promise<RemainingContent> {
  const remaining: RemainingContent = { objects: new Map(), finalizers: new Map(), errors: [] }
  const deletable = types.filter(({ namespaced, verbs }) => namespaced && verbs.includes('delete'))
  const isPods = ({ group, plural }: ServedType) => group === '' && plural === 'pods'
  for (const stage of [deletable.filter(isPods), deletable.filter((type) => !isPods(type))]) {
    await Promise.all(stage.map((type) => deleteAllOf(client, type, namespace, remaining)))
    if (hasRemaining(remaining) || remaining.errors.length > 0) break
  }
  return remaining
}

async function deleteAllOf(
  client: Client,
  type: ServedType,
  namespace: string,
  remaining: RemainingContent,
): Promise<void> {
  const resource = client.resource(type).namespace(namespace)
  try {
    const { items } = await resource.list()
    if (items.length === 0) return
    if (items.some((object) => object.metadata.deletionTimestamp === undefined))
      await resource.deleteCollection({ propagationPolicy: 'Background' })
    count(type, (await resource.list()).items, remaining)
  } catch (error) {
    remaining.errors.push(error as Error)
  }
}

function count(type: ServedType, objects: readonly KubernetesObject[], remaining: RemainingContent): void {
  if (objects.length > 0) remaining.objects.set(type, objects.length)
  for (const { metadata } of objects) {
    for (const finalizer of metadata.finalizers ?? [])
      remaining.finalizers.set(finalizer, (remaining.finalizers.get(finalizer) ?? 0) + 1)
  }
}
