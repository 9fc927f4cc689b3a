/** Several lines on a terminal that are drawn again and again: one bar for each layer. */
import { colours } from './say.ts'

export interface LayerProgress {
  readonly layer: string
  readonly received: number
  readonly total: number
}

export interface PullDisplay {
  show(progress: LayerProgress): void
  /** Takes the bars away. */
  end(): void
}

const WIDTH = 30
const MOST_LINES = 12
const FRAME = 80

/** Shows nothing where nobody looks. `now` in milliseconds. */
export function pullDisplay(stream: { isTTY?: boolean; write(text: string): unknown }, now: () => number): PullDisplay {
  if (!stream.isTTY) return { show() {}, end() {} }
  const layers = new Map<string, LayerProgress>()
  let drawn = 0
  let last = Number.NEGATIVE_INFINITY
  const clear = () => {
    if (drawn > 0) stream.write(`\u001b[${drawn}A\u001b[J`)
    drawn = 0
  }
  const draw = () => {
    clear()
    const active = [...layers.values()].slice(-MOST_LINES)
    for (const layer of active) stream.write(`${progressLine(layer)}\n`)
    drawn = active.length
  }
  return {
    show(progress) {
      layers.set(progress.layer, progress)
      const isDone = progress.received >= progress.total
      if (now() - last < FRAME && !isDone) return
      last = now()
      draw()
    },
    end: clear,
  }
}

/** `  1f2e3d4c5b6a  ━━━━━━━━━━──────────  12.3 / 24.6 MB` */
export function progressLine({ layer, received, total }: LayerProgress): string {
  const done = total === 0 ? WIDTH : Math.min(WIDTH, Math.floor((received / total) * WIDTH))
  const bar = `${colours.green('━'.repeat(done))}${colours.dim('─'.repeat(WIDTH - done))}`
  const name = layer.replace(/^sha256:/, '').slice(0, 12)
  return `  ${name.padEnd(12)}  ${bar}  ${megabytes(received)} / ${megabytes(total)} MB`
}

const megabytes = (bytes: number) => (bytes / 1e6).toFixed(1)
