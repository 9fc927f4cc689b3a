import type { Socket } from 'node:net'

/** Two connections become one: each side may end its half; if one breaks, so does the other. */
export function join(one: Socket, other: Socket): void {
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
