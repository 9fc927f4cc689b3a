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

/** Throws with a message for people if the text is no such path. */
export function parseJsonPath(text: string): JsonPath {
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
  const parts = /^\s*(@[^=!<>]*?)\s*(?:(==|!=|<=|>=|<|>)\s*(.+?)\s*)?$/.exec(text)
  if (!parts) throw new Error(`unrecognized filter ${JSON.stringify(text)}`)
  const [, path, operator = 'exists', value = 'null'] = parts
  return { type: 'filter', path: parseJsonPath(path!), operator, value: literal(value) }
}

function literal(text: string): unknown {
  const quoted = /^'(.*)'$|^"(.*)"$/.exec(text)
  if (quoted) return (quoted[1] ?? quoted[2] ?? '').replace(/\\(.)/g, '$1')
  if (text === 'true' || text === 'false') return text === 'true'
  return text === 'null' ? null : Number(text)
}

/** All values the path leads to. */
export function findAll(path: JsonPath, object: unknown): unknown[] {
  let found: unknown[] = [object]
  for (const step of path.steps) {
    if (found.length === 0) return found
    found = found.flatMap((value) => follow(step, value))
  }
  return found
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

function follow(step: Step, value: unknown): unknown[] {
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
      return deepFields(step.name, value)
    case 'filter':
      return Array.isArray(value) ? value.filter((item) => passes(step, item)) : []
  }
}

function deepFields(name: string, value: unknown): unknown[] {
  if (typeof value !== 'object' || value === null) return []
  const below = Object.values(value).flatMap((one) => deepFields(name, one))
  return isObject(value) && Object.hasOwn(value, name) ? [value[name], ...below] : below
}

function passes(step: Extract<Step, { type: 'filter' }>, item: unknown): boolean {
  const [left] = findAll(step.path, item)
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
