import { isIPv4, isIPv6 } from 'node:net'
import { decodeBytes, decodeTime } from './formats.ts'

const UUID = /^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$/i
const LABEL = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/i
const DURATION =
  /^(\d+(\.\d+)?\s*(ns|nanos?|us|µs|micros?|ms|millis?|s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?|d|days?|w|wks?|weeks?)\s*)+$/i

const isDate = (text: string) => 'value' in decodeTime(`${text}T00:00:00Z`)

function isCidr(text: string): boolean {
  const [address = '', prefix = '', ...rest] = text.split('/')
  if (rest.length > 0 || !/^\d{1,3}$/.test(prefix)) return false
  return (isIPv4(address) && Number(prefix) <= 32) || (isIPv6(address) && Number(prefix) <= 128)
}

const isHostname = (text: string) =>
  text.length <= 253 && text.split('.').every((part) => part.length <= 63 && LABEL.test(part))

/** The formats that a custom resource's schema can ask of a string; others are not checked. */
export const STRING_FORMATS: Readonly<Record<string, (text: string) => boolean>> = {
  byte: (text) => 'value' in decodeBytes(text),
  cidr: isCidr,
  date: isDate,
  'date-time': (text) => 'value' in decodeTime(text),
  datetime: (text) => 'value' in decodeTime(text),
  duration: (text) => DURATION.test(text),
  email: (text) => /^[^\s@]+@[^\s@]+$/.test(text),
  hexcolor: (text) => /^#?([0-9a-f]{3}|[0-9a-f]{6})$/i.test(text),
  hostname: isHostname,
  ipv4: isIPv4,
  ipv6: isIPv6,
  mac: (text) => /^([0-9a-f]{2}([:-])([0-9a-f]{2}\2){4}[0-9a-f]{2}|([0-9a-f]{4}\.){2}[0-9a-f]{4})$/i.test(text),
  uri: (text) => /^[a-z][a-z0-9+.-]*:\S+$/i.test(text) || /^\/\S*$/.test(text),
  uuid: (text) => UUID.test(text),
}
