const waiting: (() => void)[] = []
let isTurnComing = false

/**
 * Resolves in a later turn of the event loop, for one caller per turn. Long work that awaits this between its steps
 * delays others by one step, however many such works run at once: the queue is one because the event loop is one.
 */
export function takeTurn(): Promise<void> {
  return new Promise((resolve) => {
    waiting.push(resolve)
    expectTurn()
  })
}

function expectTurn(): void {
  if (isTurnComing) return
  isTurnComing = true
  setImmediate(turn)
}

function turn(): void {
  isTurnComing = false
  const next = waiting.shift()
  if (waiting.length > 0) expectTurn()
  next?.()
}

/** How long work goes on before it gives others a turn. */
const TURN_MS = 10

/** Runs work that comes in steps, and gives others a turn whenever it has taken long. Gathers what the steps yield. */
export async function inTurns<T>(steps: Iterable<readonly T[]>): Promise<T[]> {
  const found: T[] = []
  let started = performance.now()
  for (const step of steps) {
    for (const one of step) found.push(one)
    if (performance.now() - started < TURN_MS) continue
    await takeTurn()
    started = performance.now()
  }
  return found
}
