import { WireError } from '../../protobuf/wire-reader.ts'
import { formatTime, parseTime } from '../meta/time.ts'

type Draft = Record<string, unknown>

/** A type that is a message on the wire and something shorter in JSON. */
export interface SpecialValue {
  /** Names the message; types it refers to by their last name are in the same package. */
  readonly definition: string
  readonly fields: string
  /** Undefined if the message stands for no value. */
  fromMessage(message: Draft): unknown
  toMessage(value: unknown): Draft
}

const SCHEMA_PACKAGE = 'io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1'

const isObject = (value: unknown) => typeof value === 'object' && value !== null && !Array.isArray(value)

export const SPECIAL_VALUES: Readonly<Record<string, SpecialValue | undefined>> = {
  quantity: {
    definition: 'Quantity',
    fields: 'string=1 string',
    fromMessage: ({ string }) => string || '0',
    toMessage: (value) => ({ string: String(value) }),
  },
  intOrString: {
    definition: 'IntOrString',
    fields: 'type=1 int,intVal=2 int,strVal=3 string',
    fromMessage: ({ type, intVal, strVal }) => (type === 1 ? (strVal ?? '') : (intVal ?? 0)),
    toMessage: (value) => (typeof value === 'number' ? { type: 0, intVal: value } : { type: 1, strVal: String(value) }),
  },
  time: {
    definition: 'Time',
    fields: 'seconds=1 int,nanos=2 int',
    fromMessage: ({ seconds, nanos }) => {
      if (seconds === undefined && nanos === undefined) return undefined
      return formatTime(milliseconds(seconds))
    },
    toMessage: (value) => ({ seconds: split(value).seconds }),
  },
  microTime: {
    definition: 'MicroTime',
    fields: 'seconds=1 int,nanos=2 int',
    fromMessage: ({ seconds, nanos }) => {
      if (seconds === undefined && nanos === undefined) return undefined
      const micros = Math.floor(Number(nanos ?? 0) / 1000)
      if (micros < 0 || micros >= 1e6) throw new WireError('the nanoseconds of a time are out of range')
      return `${formatTime(milliseconds(seconds)).slice(0, -1)}.${String(micros).padStart(6, '0')}Z`
    },
    toMessage: split,
  },
  raw: {
    definition: 'RawExtension',
    fields: 'raw=1 json',
    fromMessage: ({ raw }) => raw,
    toMessage: (raw) => ({ raw }),
  },
  strings: {
    definition: 'ExtraValue',
    fields: 'items=1 []string',
    fromMessage: ({ items }) => items ?? [],
    toMessage: (items) => ({ items }),
  },
  schemaOrArray: {
    definition: `${SCHEMA_PACKAGE}.JSONSchemaPropsOrArray`,
    fields: 'schema=1 .JSONSchemaProps,jSONSchemas=2 [].JSONSchemaProps',
    fromMessage: ({ schema, jSONSchemas }) => jSONSchemas ?? schema,
    toMessage: (value) => (Array.isArray(value) ? { jSONSchemas: value } : { schema: value }),
  },
  schemaOrBool: {
    definition: `${SCHEMA_PACKAGE}.JSONSchemaPropsOrBool`,
    fields: 'allows=1 bool,schema=2 .JSONSchemaProps',
    fromMessage: ({ schema, allows }) => schema ?? allows ?? false,
    toMessage: (value) => (isObject(value) ? { allows: true, schema: value } : { allows: value === true }),
  },
  schemaOrStrings: {
    definition: `${SCHEMA_PACKAGE}.JSONSchemaPropsOrStringArray`,
    fields: 'schema=1 .JSONSchemaProps,property=2 []string',
    fromMessage: ({ schema, property }) => property ?? schema,
    toMessage: (value) => (Array.isArray(value) ? { property: value } : { schema: value }),
  },
}

/** The years that have four digits, in seconds. */
const FIRST_SECOND = -62_135_596_800
const LAST_SECOND = 253_402_300_799

function milliseconds(seconds: unknown): number {
  const count = Number(seconds ?? 0)
  if (count < FIRST_SECOND || count > LAST_SECOND) throw new WireError('the year of a time is out of range')
  return count * 1000
}

/** The fraction is read from the text: a number of milliseconds has no room for all microseconds. */
function split(value: unknown): { seconds: number; nanos: number } {
  const text = String(value)
  const fraction = /\.(\d{1,6})/.exec(text)?.[1] ?? '0'
  const seconds = Math.floor((parseTime(text.replace(/\.\d+/, '')) ?? 0) / 1000)
  return { seconds, nanos: Number(fraction.padEnd(6, '0')) * 1000 }
}
