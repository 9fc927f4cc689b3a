import type { Json, JsonObject } from '../api/meta/object.ts'
import { Slices } from './slices.ts'

const SLICE_BYTES = 256 * 1024

/** The text of a document, written entry by entry: that of thousands of kinds has tens of megabytes. */
export async function documentJson(document: JsonObject): Promise<Buffer> {
  const text = new TextParts()
  let separator = '{'
  for (const [key, value] of Object.entries(document)) {
    text.add(`${separator}${JSON.stringify(key)}:`)
    separator = ','
    if (isLarge(value)) await writeEntries(text, value)
    else text.add(JSON.stringify(value))
  }
  text.add('}')
  return text.finish()
}

const isLarge = (value: Json | undefined): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

async function writeEntries(text: TextParts, entries: JsonObject): Promise<void> {
  let separator = '{'
  for (const [key, value] of Object.entries(entries)) {
    await text.addInTurn(`${separator}${JSON.stringify(key)}:${JSON.stringify(value)}`)
    separator = ','
  }
  text.add(separator === '{' ? '{}' : '}')
}

/** Text that becomes bytes piece by piece. */
class TextParts {
  readonly #bytes: Buffer[] = []
  readonly #slices = new Slices(SLICE_BYTES)
  #pending = ''

  add(text: string): void {
    this.#pending += text
    if (this.#pending.length >= SLICE_BYTES) this.#flush()
  }

  addInTurn(text: string): Promise<void> {
    this.add(text)
    return this.#slices.add(text.length)
  }

  finish(): Buffer {
    this.#flush()
    return Buffer.concat(this.#bytes)
  }

  #flush(): void {
    this.#bytes.push(Buffer.from(this.#pending))
    this.#pending = ''
  }
}
