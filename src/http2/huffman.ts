import { HpackError } from './hpack-error.ts'
import { END_OF_STRING, HUFFMAN_LENGTHS } from './hpack-tables.ts'
import { latin1 } from './latin1.ts'

/**
 * The inner nodes of the tree of codes are the states of a machine that eats four bits at a time. No code is shorter
 * than five bits, so a step ends one symbol at most. All steps of all states make a table of 16 KB.
 *
 *   bits of a step:  21 a symbol ends | 13..20 which one | 4..12 the next state | 0..3 none, for the four bits to come
 */
const STATE_AT = 4
const STATE_MASK = 0x1ff0
const SYMBOL_AT = 13
const ENDED_AT = 21

const NODES = 256
/** The end of the string, which must not be in one, leads here. There is no way out. */
const FAILED = NODES
/** Less than a byte is filled up with the first bits of the end of the string, which are ones. */
const LONGEST_PADDING = 7

/** The shortest code has five bits. */
const SYMBOLS_PER_BYTE = 8 / 5
/** What does not fit in here is rare, and gets a buffer of its own. */
const scratch = Buffer.allocUnsafeSlow(16 * 1024)

interface Machine {
  readonly steps: Int32Array
  /** By state: is there nothing after the last symbol but padding? */
  readonly mayEnd: Uint8Array
}

/** Made when the first string comes, so that starting a server does not wait for it. */
let machine: Machine | undefined

/** RFC 7541, 5.2. */
export function huffmanDecode(bytes: Buffer, start: number, end: number): string {
  machine ??= buildMachine()
  const { steps, mayEnd } = machine
  const room = Math.ceil((end - start) * SYMBOLS_PER_BYTE) + 1
  const out = room <= scratch.length ? scratch : Buffer.allocUnsafe(room)
  let length = 0
  let step = 0
  // Numbers instead of names, since a bundle makes variables of these, which cost a third. Writing each time, and going
  // on only when a symbol has ended, is quicker than asking first.
  for (let at = start; at < end; at++) {
    const byte = bytes[at]!
    step = steps[(step & 0x1ff0) | (byte >> 4)]!
    out[length] = step >> 13
    length += step >> 21
    step = steps[(step & 0x1ff0) | (byte & 0xf)]!
    out[length] = step >> 13
    length += step >> 21
  }
  if (mayEnd[(step & STATE_MASK) >> STATE_AT] === 0) throw new HpackError('a Huffman string does not end as it must')
  return latin1(out, 0, length)
}

function buildMachine(): Machine {
  const bitSteps = new Int32Array((NODES + 1) * 2).fill(FAILED << STATE_AT)
  const mayEnd = new Uint8Array(NODES + 1)
  mayEnd[0] = 1
  // Level by level. The children of a level are, from left to right, the symbols of this length and then new nodes.
  let child = 0
  let nodes = 1
  for (let length = 1; child < NODES * 2; length++) {
    const levelEnd = nodes * 2
    for (const symbol of symbolsOf(length)) {
      if (symbol !== END_OF_STRING) bitSteps[child] = (1 << ENDED_AT) | (symbol << SYMBOL_AT)
      child++
    }
    while (child < levelEnd) bitSteps[child++] = nodes++ << STATE_AT
    // Only ones lead to the last node of a level.
    if (length <= LONGEST_PADDING) mayEnd[nodes - 1] = 1
  }
  return { steps: twice(twice(bitSteps, 1), 2), mayEnd }
}

function* symbolsOf(length: number): Iterable<number> {
  for (let symbol = -1; ; ) {
    symbol = HUFFMAN_LENGTHS.indexOf(length, symbol + 1)
    if (symbol < 0) return
    yield symbol
  }
}

/** From steps of `bits` to steps of twice as many: each is two of them, of which one ends a symbol at most. */
function twice(steps: Int32Array, bits: number): Int32Array {
  const values = 1 << bits
  const result = new Int32Array(steps.length * values)
  let at = 0
  for (const first of steps) {
    const next = ((first & STATE_MASK) >> STATE_AT) << bits
    for (let value = 0; value < values; value++) result[at++] = (first & ~STATE_MASK) | steps[next | value]!
  }
  return result
}
