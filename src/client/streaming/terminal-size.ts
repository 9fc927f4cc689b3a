import type { Readable } from 'node:stream'

export interface TerminalSize {
  readonly width: number
  readonly height: number
}

/** No message is longer. */
const MAX_TEXT = 1024

/** Sizes come as JSON objects, one after the other: {"Width":80,"Height":24}. */
export function onTerminalSize(source: Readable, listener: (size: TerminalSize) => void): void {
  let text = ''
  source.on('data', (chunk: Buffer) => {
    text = (text + chunk.toString('latin1')).slice(-MAX_TEXT)
    for (let end = text.indexOf('}'); end >= 0; end = text.indexOf('}')) {
      const size = parseSize(text.slice(0, end + 1))
      text = text.slice(end + 1)
      if (size) listener(size)
    }
  })
}

export const formatTerminalSize = ({ width, height }: TerminalSize) =>
  `${JSON.stringify({ Width: width, Height: height })}\n`

function parseSize(text: string): TerminalSize | undefined {
  try {
    const { Width: width, Height: height } = JSON.parse(text) as { Width?: number; Height?: number }
    return isSize(width) && isSize(height) ? { width, height } : undefined
  } catch {
    return undefined
  }
}

const isSize = (value: number | undefined): value is number =>
  Number.isInteger(value) && Number(value) > 0 && Number(value) < 65536
