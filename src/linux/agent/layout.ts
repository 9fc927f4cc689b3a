/**
 * What the agent and its driver agree on. A request is twelve 64-bit words and then `inputLength` bytes, which go to
 * memory at `input`; the answer is the result and then `outputLength` bytes of memory at `output`.
 */
export const REQUEST = {
  number: 0,
  argument: (index: number) => 8 + 8 * index,
  input: 56,
  inputLength: 64,
  output: 72,
  outputLength: 80,
  flags: 88,
  /** The control descriptor of the child, for `fork`. */
  childControl: 89,
  size: 96,
} as const

/** Bits of a request's flags. */
export const FLAG = {
  /** After a clone the child (whose result is 0) reads its requests from the descriptor in `childControl`. */
  fork: 0,
  /** Nobody waits for the answer. */
  silent: 1,
  /** As many bytes come back as the result says. */
  resultLength: 2,
  /** The first argument is the kept result. */
  useKept: 3,
  /** Keep this result. */
  keep: 4,
} as const

/** Not a system call: copies the first descriptor to the second until either end closes. */
export const COPY = 0xffff

/** The descriptor a fresh agent is driven by. */
export const FIRST_CONTROL = 3

/** Ends an agent whose driver has gone. */
export const ORPHAN_EXIT_CODE = 255

const BASE = 0x10000000
/** Writable memory of the agent: the request, the result, then arguments and what is copied. Pages cost when touched. */
export const MEMORY = {
  base: BASE,
  size: 8 << 20,
  request: BASE,
  result: BASE + REQUEST.size,
  data: BASE + 4096,
  dataSize: (8 << 20) - 4096,
} as const

export const COPY_CHUNK = 65536
