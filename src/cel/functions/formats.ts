import {
  isDns1035Label,
  isDns1123Label,
  isDns1123Subdomain,
  isLabelValue,
  isQualifiedName,
} from '../../api/meta/names.ts'
import { STRING_FORMATS } from '../../api/schema/value-formats.ts'
import type { Functions } from '../library.ts'
import { type OpaqueValue, Optional } from '../values.ts'

type Validate = (text: string) => string[]

class FormatValue implements OpaqueValue {
  readonly celKind = 'kubernetes.NamedFormat'
  readonly key: string
  readonly validate: Validate
  readonly patternSize: number

  constructor(name: string, validate: Validate, patternSize: number) {
    this.key = name
    this.validate = validate
    this.patternSize = patternSize
  }
}

const known =
  (format: string, message: string): Validate =>
  (text) =>
    STRING_FORMATS[format]!(text) ? [] : [message]

/** A prefix may end with what the generated rest will follow. */
const prefixOf =
  (validate: Validate): Validate =>
  (text) =>
    validate(text.endsWith('-') ? `${text.slice(0, -1)}a` : text)

const FORMATS: Readonly<Record<string, Validate>> = {
  dns1123Label: isDns1123Label,
  dns1123Subdomain: isDns1123Subdomain,
  dns1035Label: isDns1035Label,
  qualifiedName: isQualifiedName,
  dns1123LabelPrefix: prefixOf(isDns1123Label),
  dns1123SubdomainPrefix: prefixOf(isDns1123Subdomain),
  dns1035LabelPrefix: prefixOf(isDns1035Label),
  labelValue: isLabelValue,
  uri: known('uri', 'invalid uri'),
  uuid: known('uuid', 'does not match the UUID format'),
  byte: known('byte', 'invalid base64'),
  date: known('date', 'invalid date'),
  datetime: known('date-time', 'invalid datetime'),
}

/** The lengths of the regular expressions of Kubernetes, which the cost of a check depends on. */
const PATTERN_SIZES: Readonly<Record<string, number>> = {
  dns1123Label: 30,
  dns1123Subdomain: 60,
  dns1035Label: 30,
  qualifiedName: 60,
  dns1123LabelPrefix: 30,
  dns1123SubdomainPrefix: 60,
  dns1035LabelPrefix: 30,
  labelValue: 40,
  uri: 1103,
  uuid: 70,
  byte: 84,
  date: 71,
  datetime: 71,
}

const values = new Map(
  Object.entries(FORMATS).map(([name, validate]) => [name, new FormatValue(name, validate, PATTERN_SIZES[name]!)]),
)

const constants = Object.fromEntries(
  [...values].map(([name, value]) => [`format.${name}(): kubernetes.NamedFormat`, () => value]),
) as Functions

export const formats: Functions = {
  ...constants,
  'format.named(string): optional<kubernetes.NamedFormat>': (name: string) =>
    values.has(name) ? new Optional(values.get(name)!) : Optional.NONE,
  'kubernetes.NamedFormat.validate(string): optional<list<string>>': (format: FormatValue, text: string) => {
    const problems = format.validate(text)
    return problems.length === 0 ? Optional.NONE : new Optional(problems)
  },
}
