import type { Socket } from 'node:net'

/** Joins two connections into one: each side may end its half; if one breaks, the other is destroyed. */
export function joinSockets(one: Socket, other: Socket): void {
  for (const [from, to] of [
    [one, other],
    [other, one],
  ] as const) {
    from.setNoDelay(true)
    from.pipe(to)
    from.on('error', () => to.destroy())
    from.on('close', (broke) => (broke ? to.destroy() : to.destroySoon()))
  }
}
