/**
 * What names and other short strings of the API must look like. Each check returns what is wrong, in the words
 * users know; an empty list means the value is fine. Every pattern is anchored and runs in linear time.
 */

/** A check of a name. With `isPrefix` the name is a generateName: a suffix still follows, so it may end in a dash. */
export type NameCheck = (name: string, isPrefix: boolean) => string[]

export const maxLengthMessage = (length: number) => `must be no more than ${length} bytes`
export const rangeMessage = (low: number, high: number) => `must be between ${low} and ${high}, inclusive`
const EMPTY = 'must be non-empty'

function regexMessage(message: string, format: string, ...examples: string[]): string {
  const shown = examples.map((example) => `'${example}', `).join(' or ')
  return `${message} (${shown && `e.g. ${shown}`}regex used for validation is '${format}')`
}

interface Rule {
  readonly pattern: RegExp
  readonly message: string
}
const rule = (message: string, format: string, ...examples: string[]): Rule => ({
  pattern: new RegExp(`^(?:${format})$`),
  message: regexMessage(message, format, ...examples),
})

const LONG = 16 * 1024

/** Most checks: at most so many bytes, and one pattern. Of a text that is much too long only that is said. */
function check(value: string, rule: Rule, maxLength = Number.POSITIVE_INFINITY): string[] {
  const tooLong = value.length * 3 > maxLength && Buffer.byteLength(value) > maxLength
  // Nobody needs to read on in a name of megabytes.
  const matches = (tooLong && value.length > LONG) || rule.pattern.test(value)
  if (matches && !tooLong) return []
  return [...(tooLong ? [maxLengthMessage(maxLength)] : []), ...(matches ? [] : [rule.message])]
}

export const DNS_LABEL_MAX = 63
export const DNS_SUBDOMAIN_MAX = 253

const DNS1123_LABEL = '[a-z0-9]([-a-z0-9]*[a-z0-9])?'
const DNS1123_SUBDOMAIN = `${DNS1123_LABEL}(\\.${DNS1123_LABEL})*`
const LABEL_WITH_UNDERSCORE = '[a-z0-9_]([-_a-z0-9]*[a-z0-9_])?'
const QUALIFIED = '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]'

const dns1123Label = rule(
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character",
  DNS1123_LABEL,
  'my-name',
  '123-abc',
)
const dns1123Subdomain = rule(
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character",
  DNS1123_SUBDOMAIN,
  'example.com',
)
const subdomainWithUnderscore = rule(
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', and must start and end with an alphanumeric character",
  `${LABEL_WITH_UNDERSCORE}(\\.${LABEL_WITH_UNDERSCORE})*`,
  'example.com',
)
const dns1035Label = rule(
  "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character",
  '[a-z]([-a-z0-9]*[a-z0-9])?',
  'my-name',
  'abc-123',
)
const wildcardSubdomain = rule(
  "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character",
  `\\*\\.${DNS1123_SUBDOMAIN}`,
  '*.example.com',
)
const qualifiedName = rule(
  "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
  QUALIFIED,
  'MyName',
  'my.name',
  '123-abc',
)
const labelValue = rule(
  "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
  `(${QUALIFIED})?`,
  'MyValue',
  'my_value',
  '12345',
)
const cIdentifier = rule(
  "a valid C identifier must start with alphabetic character or '_', followed by a string of alphanumeric characters or '_'",
  '[A-Za-z_][A-Za-z0-9_]*',
  'my_name',
  'MY_NAME',
  'MyName',
)
const configMapKey = rule(
  "a valid config key must consist of alphanumeric characters, '-', '_' or '.'",
  '[-._a-zA-Z0-9]+',
  'key.name',
  'KEY_NAME',
  'key-name',
)
const envVarName = rule(
  "a valid environment variable name must consist of alphabetic characters, digits, '_', '-', or '.', and must not start with a digit",
  '[-._a-zA-Z][-._a-zA-Z0-9]*',
  'my.env-name',
  'MY_ENV.NAME',
  'MyEnvName1',
)
const httpHeaderName = rule(
  "a valid HTTP header must consist of alphanumeric characters or '-'",
  '[-A-Za-z0-9]+',
  'X-Header-Name',
)
const percent = rule(
  "a valid percent string must be a numeric string followed by an ending '%'",
  '[0-9]+%',
  '1%',
  '93%',
)

export const isDns1123Subdomain = (value: string) => check(value, dns1123Subdomain, DNS_SUBDOMAIN_MAX)
export const isDns1123SubdomainWithUnderscore = (value: string) =>
  check(value, subdomainWithUnderscore, DNS_SUBDOMAIN_MAX)
export const isDns1035Label = (value: string) => check(value, dns1035Label, DNS_LABEL_MAX)
export const isWildcardDns1123Subdomain = (value: string) => check(value, wildcardSubdomain, DNS_SUBDOMAIN_MAX)
export const isLabelValue = (value: string) => check(value, labelValue, DNS_LABEL_MAX)
export const isCIdentifier = (value: string) => check(value, cIdentifier)
export const isHttpHeaderName = (value: string) => check(value, httpHeaderName)
export const isPercent = (value: string) => check(value, percent)

export function isDns1123Label(value: string): string[] {
  const errors = check(value, dns1123Label, DNS_LABEL_MAX)
  if (errors.at(-1) === dns1123Label.message && dns1123Subdomain.pattern.test(value))
    errors[errors.length - 1] = 'must not contain dots'
  return errors
}

/** `name` or `prefix/name`: the keys of labels and annotations, finalizers, resource names. */
export function isQualifiedName(value: string): string[] {
  const slash = value.indexOf('/')
  const name = value.slice(slash + 1)
  if (name.includes('/'))
    return [
      `a qualified name ${qualifiedName.message} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`,
    ]
  const prefix = slash < 0 ? [] : slash === 0 ? [EMPTY] : isDns1123Subdomain(value.slice(0, slash))
  // An empty name breaks the pattern too, and both are said.
  const rest = check(name, qualifiedName, DNS_LABEL_MAX)
  if (prefix.length === 0 && rest.length === 0) return []
  return [
    ...prefix.map((message) => `prefix part ${message}`),
    ...(name === '' ? [`name part ${EMPTY}`] : []),
    ...rest.map((message) => `name part ${message}`),
  ]
}

export const isConfigMapKey = (value: string) => withDotMessages(value, check(value, configMapKey, DNS_SUBDOMAIN_MAX))
export const isEnvVarName = (value: string) => withDotMessages(value, check(value, envVarName))

/** Since v1.34 environment variables may have almost any name. */
export const isRelaxedEnvVarName = (value: string) =>
  value !== '' && /^[ -<>-~]+$/.test(value)
    ? []
    : ["a valid environment variable name must consist only of printable ASCII characters other than '='"]

/** Names that would leave the directory they become a file in. */
function withDotMessages(value: string, errors: string[]): string[] {
  if (!value.startsWith('.')) return errors
  if (value === '.') return [...errors, "must not be '.'"]
  if (value === '..') return [...errors, "must not be '..'"]
  return value.startsWith('..') ? [...errors, "must not start with '..'"] : errors
}

/** RFC 6335: the name of a port. */
export function isPortName(value: string): string[] {
  const errors: string[] = []
  if (value.length > 15) errors.push(maxLengthMessage(15))
  if (!/^[-a-z0-9]+$/.test(value)) errors.push('must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)')
  if (!/[a-z]/.test(value)) errors.push('must contain at least one letter (a-z)')
  if (value.includes('--')) errors.push('must not contain consecutive hyphens')
  if (value.startsWith('-') || value.endsWith('-')) errors.push('must not begin or end with a hyphen')
  return errors
}

export function isInRange(value: number, low: number, high: number): string[] {
  return value >= low && value <= high ? [] : [rangeMessage(low, high)]
}
export const isPortNumber = (value: number) => isInRange(value, 1, 65535)
/** Unix user and group ids. */
export const isUserId = (value: number) => isInRange(value, 0, 2147483647)

/** May stand between two slashes of a URL path. The weakest of the name checks: RBAC and custom names. */
export const isPathSegmentName: NameCheck = (name, isPrefix) => {
  if (!isPrefix && (name === '.' || name === '..')) return [`may not be '${name}'`]
  return ['/', '%'].filter((part) => name.includes(part)).map((part) => `may not contain '${part}'`)
}

/** Makes a check of whole names into one that also takes prefixes. */
const asNameCheck =
  (checkWhole: (value: string) => string[]): NameCheck =>
  (name, isPrefix) =>
    checkWhole(isPrefix && name.length > 1 && name.endsWith('-') ? `${name.slice(0, -2)}a` : name)

export const nameIsDnsSubdomain: NameCheck = asNameCheck(isDns1123Subdomain)
export const nameIsDnsLabel: NameCheck = asNameCheck(isDns1123Label)
export const nameIsDns1035Label: NameCheck = asNameCheck(isDns1035Label)
