import type { Endpoint } from '../service-port.ts'

/**
 * Which number each endpoint has. A random number below their count chooses one, so the numbers have no holes; and as few
 * as possible change when endpoints come and go, because each is an element in the kernel.
 */
export function assignSlots(previous: readonly Endpoint[], endpoints: readonly Endpoint[]): readonly Endpoint[] {
  if (previous.length === 0) return endpoints
  const waiting = new Map(endpoints.map((endpoint) => [endpoint.id, endpoint]))
  const slots = new Array<Endpoint | undefined>(endpoints.length)
  for (let i = 0; i < slots.length && i < previous.length; i++) {
    const id = previous[i]!.id
    slots[i] = waiting.get(id)
    waiting.delete(id)
  }
  const rest = waiting.values()
  return Array.from(slots, (slot) => slot ?? rest.next().value!)
}
