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
