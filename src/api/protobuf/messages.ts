import { MESSAGE_TEXTS } from './generated/messages.ts'
import { SPECIAL_VALUES, type SpecialValue } from './special-values.ts'

/** What a field holds. One number per type keeps reading and writing a single switch. */
export const TYPE = { string: 0, bool: 1, int: 2, double: 3, bytes: 4, json: 5, message: 6, special: 7 } as const

export type Type = (typeof TYPE)[keyof typeof TYPE]

export interface Field {
  /** As in JSON. Empty for a message whose fields stand directly in the object that holds it. */
  readonly name: string
  readonly number: number
  readonly type: Type
  readonly isList: boolean
  readonly isMap: boolean
  /** Go writes this field to the wire even if nobody set it, but leaves it out of JSON. */
  readonly dropZero: boolean
  readonly message: Message | undefined
  /** How the message looks in JSON, where it does not look like a message. */
  readonly special: SpecialValue | undefined
}

/** A protobuf message and the JSON object it stands for. */
export interface Message {
  /** By number. */
  readonly fields: readonly (Field | undefined)[]
  readonly byName: ReadonlyMap<string, Field>
  readonly inlined: readonly Field[]
}

const linked = new Map<string, Message>()

/** The message of a built-in type, such as `io.k8s.api.core.v1.Pod`; undefined if the type has none. */
export function messageOf(definition: string): Message | undefined {
  const known = linked.get(definition)
  if (known !== undefined) return known
  const text = Object.hasOwn(MESSAGE_TEXTS, definition) ? MESSAGE_TEXTS[definition] : undefined
  return text === undefined ? undefined : link(definition, text)
}

/** Parses a text such as `replicas=1 int,minReadySeconds=5~int`, and all messages it refers to. */
function link(definition: string, text: string): Message {
  const fields: (Field | undefined)[] = []
  const byName = new Map<string, Field>()
  const inlined: Field[] = []
  const message: Message = { fields, byName, inlined }
  // Known before it is complete: a type may refer to itself.
  linked.set(definition, message)
  const home = definition.slice(0, definition.lastIndexOf('.'))
  for (const part of text === '' ? [] : text.split(',')) {
    const field = parseField(part, home)
    fields[field.number] = field
    if (field.name === '') inlined.push(field)
    else byName.set(field.name, field)
  }
  for (let number = 0; number < fields.length; number++) fields[number] ??= undefined
  return message
}

const FIELD = /^([^=]*)=(\d+)([ ~^])(\[\]|\{\})?(.+)$/

function parseField(text: string, home: string): Field {
  const [, name = '', number, mark, container, type = ''] = FIELD.exec(text) ?? []
  if (number === undefined) throw new Error(`not a field of a message: ${text}`)
  return {
    name,
    number: Number(number),
    isList: container === '[]',
    isMap: container === '{}',
    dropZero: mark === '~',
    ...linkType(type, home),
  }
}

const SCALARS: Readonly<Record<string, Type | undefined>> = {
  string: TYPE.string,
  bool: TYPE.bool,
  int: TYPE.int,
  double: TYPE.double,
  bytes: TYPE.bytes,
  json: TYPE.json,
}

function linkType(type: string, home: string): Pick<Field, 'type' | 'message' | 'special'> {
  const scalar = SCALARS[type]
  if (scalar !== undefined) return { type: scalar, message: undefined, special: undefined }
  const special = SPECIAL_VALUES[type]
  if (special) {
    const message = linked.get(special.definition) ?? link(special.definition, special.fields)
    return { type: TYPE.special, message, special }
  }
  const message = messageOf(type.startsWith('.') ? home + type : type)
  if (!message) throw new Error(`there is no message ${type}`)
  return { type: TYPE.message, message, special: undefined }
}

const PACKAGES: ReadonlyMap<string, string> = new Map([
  ['', 'io.k8s.api.core'],
  ['apiextensions.k8s.io', 'io.k8s.apiextensions-apiserver.pkg.apis.apiextensions'],
  ['apiregistration.k8s.io', 'io.k8s.kube-aggregator.pkg.apis.apiregistration'],
])
/** These belong to every group. */
const META_KINDS = new Set(['DeleteOptions', 'Status', 'PartialObjectMetadata', 'PartialObjectMetadataList'])
const META_PACKAGE = 'io.k8s.apimachinery.pkg.apis.meta.v1'

/** The message of a kind as it names itself: `rbac.authorization.k8s.io/v1`, `Role`. */
export function messageOfKind(apiVersion: string, kind: string): Message | undefined {
  if (META_KINDS.has(kind)) return messageOf(`${META_PACKAGE}.${kind}`)
  const slash = apiVersion.indexOf('/')
  const group = apiVersion.slice(0, Math.max(0, slash))
  const home = PACKAGES.get(group) ?? `io.k8s.api.${group.split('.', 1)[0]}`
  return messageOf(`${home}.${apiVersion.slice(slash + 1)}.${kind}`)
}
