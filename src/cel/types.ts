/** A type of the Common Expression Language: a name, what it holds, and the fields of an object. */
export interface CelType {
  readonly kind: string
  readonly params: readonly CelType[]
  /** The type of a field of an object; undefined if it has no such field. */
  field?(name: string): CelType | undefined
}

const plain = (kind: string): CelType => ({ kind, params: [] })

export const BOOL = plain('bool')
export const INT = plain('int')
export const UINT = plain('uint')
export const DOUBLE = plain('double')
export const STRING = plain('string')
export const BYTES = plain('bytes')
export const NULL = plain('null')
export const DYN = plain('dyn')
export const TIMESTAMP = plain('timestamp')
export const DURATION = plain('duration')
/** Stands for what could not be typed; whatever is done with it is no further error. */
export const ERROR = plain('error')

export const listOf = (item: CelType): CelType => ({ kind: 'list', params: [item] })
export const mapOf = (key: CelType, value: CelType): CelType => ({ kind: 'map', params: [key, value] })
export const optionalOf = (value: CelType): CelType => ({ kind: 'optional', params: [value] })
export const typeOf = (of: CelType): CelType => ({ kind: 'type', params: [of] })
export const opaque = (name: string): CelType => plain(name)

/** An object whose fields are known. They are asked for by the names that stand in expressions. */
export const objectOf = (name: string, field: (name: string) => CelType | undefined): CelType => ({
  kind: name,
  params: [],
  field,
})

export const isDyn = (type: CelType) => type.kind === 'dyn' || type.kind === 'error'
const isVariable = (type: CelType) => /^[A-Z]$/.test(type.kind)

const PRINTED: Readonly<Record<string, string>> = {
  timestamp: 'google.protobuf.Timestamp',
  duration: 'google.protobuf.Duration',
  optional: 'optional_type',
  error: '!error!',
}

/** A type as messages name it: `list(map(string, int))`. */
export function formatType(type: CelType): string {
  const name = PRINTED[type.kind] ?? type.kind
  return type.params.length === 0 ? name : `${name}(${type.params.map(formatType).join(', ')})`
}

export type Bindings = Map<string, CelType>

/** Whether a value of type `from` may stand where `to` is wanted. Type variables of `to` are bound on the way. */
export function isAssignable(to: CelType, from: CelType, bindings: Bindings): boolean {
  if (isVariable(to)) return bind(to.kind, from, bindings)
  if (isDyn(to) || isDyn(from)) return true
  // Null may stand for an object or an opaque value, but not for a scalar.
  if (from.kind === 'null' && to.kind !== 'null') return !SCALARS.has(to.kind)
  if (to.kind !== from.kind || to.params.length !== from.params.length) return false
  return to.params.every((param, i) => isAssignable(param, from.params[i]!, bindings))
}

const SCALARS = new Set(['bool', 'int', 'uint', 'double', 'string', 'bytes', 'list', 'map', 'type'])

function bind(name: string, type: CelType, bindings: Bindings): boolean {
  const bound = bindings.get(name)
  if (bound === undefined || (isDyn(bound) && !isDyn(type))) {
    bindings.set(name, type)
    return true
  }
  if (isAssignable(bound, type, new Map())) return true
  if (!isAssignable(type, bound, new Map())) return false
  bindings.set(name, type)
  return true
}

/** The type with its variables replaced by what they were bound to. */
export function resolve(type: CelType, bindings: Bindings): CelType {
  if (isVariable(type)) return bindings.get(type.kind) ?? DYN
  return type.params.length === 0 ? type : { ...type, params: type.params.map((param) => resolve(param, bindings)) }
}

/** The type of values that may be of either; `dyn` if they have nothing in common. */
export function joined(a: CelType, b: CelType): CelType {
  if (isAssignable(a, b, new Map())) return isDyn(b) ? b : a
  return isAssignable(b, a, new Map()) ? b : DYN
}
