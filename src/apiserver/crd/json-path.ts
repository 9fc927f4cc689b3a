/**
 * The simple JSON paths of printed columns, scales and selectable fields: `.spec.replicas`, `.metadata.labels.a\.b`,
 * `.status.conditions[?(@.type=="Ready")].status`, `.spec.containers[*].image`, `.spec['a.b']`, `.spec.ports[0]`.
 */
export interface JsonPath {
  readonly steps: readonly Step[]
}

type Step =
  | { readonly type: 'field'; readonly name: string }
  | { readonly type: 'index'; readonly index: number }
  | { readonly type: 'slice'; readonly from: number | undefined; readonly to: number | undefined }
  | { readonly type: 'all' }
  | { readonly type: 'deep'; readonly name: string }
  | { readonly type: 'filter'; readonly path: JsonPath; readonly operator: string; readonly value: unknown }

/** Filters hold paths again, and each level is read once more. */
const MAX_LENGTH = 4096

/** Throws with a message for people if the text is no such path. */
export function parseJsonPath(text: string): JsonPath {
  if (text.length > MAX_LENGTH) throw new Error(`a path has at most ${MAX_LENGTH} characters`)
  const steps: Step[] = []
  let at = text.startsWith('$') || text.startsWith('@') ? 1 : 0
  while (at < text.length) {
    const read = text[at] === '[' ? readBracket(text, at) : readField(text, at)
    steps.push(read.step)
    at = read.next
  }
  return { steps }
}

function readField(text: string, at: number): { step: Step; next: number } {
  const isDeep = text.startsWith('..', at)
  let next = at + (isDeep ? 2 : text[at] === '.' ? 1 : 0)
  if (text[at] !== '.' && at > 0) throw new Error(`unexpected ${JSON.stringify(text[at])} in ${JSON.stringify(text)}`)
  let name = ''
  while (next < text.length && text[next] !== '.' && text[next] !== '[') {
    if (text[next] === '\\') next++
    name += text[next++] ?? ''
  }
  if (name === '' && text[next] === '[' && !isDeep) return readBracket(text, next)
  if (name === '') throw new Error(`a field name is missing in ${JSON.stringify(text)}`)
  if (name === '*') return { step: { type: 'all' }, next }
  return { step: { type: isDeep ? 'deep' : 'field', name }, next }
}

function readBracket(text: string, at: number): { step: Step; next: number } {
  const end = closing(text, at)
  const inside = text.slice(at + 1, end).trim()
  return { step: bracketStep(inside), next: end + 1 }
}

/** Where the bracket ends that begins at `at`; brackets in quotes do not count. */
function closing(text: string, at: number): number {
  let depth = 0
  let quote = ''
  for (let i = at; i < text.length; i++) {
    const char = text[i]!
    if (quote !== '') {
      if (char === '\\') i++
      else if (char === quote) quote = ''
    } else if (char === '"' || char === "'") quote = char
    else if (char === '[') depth++
    else if (char === ']' && --depth === 0) return i
  }
  throw new Error(`unterminated array in ${JSON.stringify(text)}`)
}

function bracketStep(inside: string): Step {
  if (inside === '*') return { type: 'all' }
  if (/^-?\d+$/.test(inside)) return { type: 'index', index: Number(inside) }
  const quoted = /^'((?:[^'\\]|\\.)*)'$|^"((?:[^"\\]|\\.)*)"$/.exec(inside)
  if (quoted) return { type: 'field', name: (quoted[1] ?? quoted[2] ?? '').replace(/\\(.)/g, '$1') }
  const slice = /^(-?\d*):(-?\d*)$/.exec(inside)
  if (slice) return { type: 'slice', from: numberOr(slice[1]), to: numberOr(slice[2]) }
  const filter = /^\?\((.*)\)$/.exec(inside)
  if (filter) return filterStep(filter[1]!)
  throw new Error(`invalid array index ${inside}`)
}

const numberOr = (text: string | undefined) => (text ? Number(text) : undefined)

function filterStep(text: string): Step {
  const filter = text.trim()
  const end = filter.search(/[=!<>]/)
  const path = parseJsonPath((end < 0 ? filter : filter.slice(0, end)).trimEnd())
  const operator = end < 0 ? 'exists' : /^(?:[=!<>]=|[<>])/.exec(filter.slice(end))?.[0]
  const value = end < 0 ? 'null' : filter.slice(end + (operator?.length ?? 0)).trim()
  if (!filter.startsWith('@') || operator === undefined || value === '')
    throw new Error(`unrecognized filter ${JSON.stringify(text)}`)
  return { type: 'filter', path, operator, value: literal(value) }
}

function literal(text: string): unknown {
  const quoted = /^'(.*)'$|^"(.*)"$/.exec(text)
  if (quoted) return (quoted[1] ?? quoted[2] ?? '').replace(/\\(.)/g, '$1')
  if (text === 'true' || text === 'false') return text === 'true'
  return text === 'null' ? null : Number(text)
}

/** A path with several `..` leads to some values on many ways: nobody waits for all of them. */
const MAX_STEPS = 100_000

/** All values the path leads to, as they are asked for. */
export const findAll = (path: JsonPath, object: unknown): Iterable<unknown> => new Search().find(path, 0, object)

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

class Search {
  #left = MAX_STEPS

  #follow(step: Step, value: unknown): Iterable<unknown> {
    switch (step.type) {
      case 'field':
        return isObject(value) && Object.hasOwn(value, step.name) ? [value[step.name]] : []
      case 'index':
        return Array.isArray(value) && value.at(step.index) !== undefined ? [value.at(step.index)] : []
      case 'slice':
        return Array.isArray(value) ? value.slice(step.from, step.to) : []
      case 'all':
        return Array.isArray(value) ? value : isObject(value) ? Object.values(value) : []
      case 'deep':
        return this.#deepFields(step.name, value)
      case 'filter':
        return Array.isArray(value) ? this.#filter(step, value) : []
    }
  }

  *find(path: JsonPath, at: number, value: unknown): Iterable<unknown> {
    const step = path.steps[at]
    if (step === undefined) yield value
    else for (const next of this.#follow(step, value)) if (this.#left-- > 0) yield* this.find(path, at + 1, next)
  }

  /** Without recursion: a generator inside of many others would pass each value through all of them. */
  *#deepFields(name: string, root: unknown): Iterable<unknown> {
    const waiting = [root]
    while (waiting.length > 0 && this.#left-- > 0) {
      const value = waiting.pop()
      if (typeof value !== 'object' || value === null) continue
      if (isObject(value) && Object.hasOwn(value, name)) yield value[name]
      for (const child of Object.values(value).reverse()) waiting.push(child)
    }
  }

  *#filter(step: FilterStep, items: readonly unknown[]): Iterable<unknown> {
    for (const item of items) {
      const [left] = this.find(step.path, 0, item)
      if (this.#left-- > 0 && passes(step, left)) yield item
    }
  }
}

type FilterStep = Extract<Step, { type: 'filter' }>

function passes(step: FilterStep, left: unknown): boolean {
  const right = step.value as string
  switch (step.operator) {
    case 'exists':
      return left !== undefined
    case '==':
      return left === right
    case '!=':
      return left !== right
    case '<':
      return (left as string) < right
    case '<=':
      return (left as string) <= right
    case '>':
      return (left as string) > right
    default:
      return (left as string) >= right
  }
}

/** The names of a path that is nothing but fields; undefined if it is more. */
export function fieldNames(path: JsonPath): string[] | undefined {
  const names = path.steps.map((step) => (step.type === 'field' ? step.name : undefined))
  return names.every((name) => name !== undefined) ? names : undefined
}

/** Sets the field at the end of the names, making objects on the way. */
export function setField(object: object, names: readonly string[], value: unknown): void {
  let target = object as Record<string, unknown>
  for (const name of names.slice(0, -1)) {
    const next = Object.hasOwn(target, name) ? target[name] : undefined
    if (!isObject(next)) target[name] = {}
    target = target[name] as Record<string, unknown>
  }
  target[names.at(-1)!] = value
}
