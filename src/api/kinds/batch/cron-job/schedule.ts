/** When a CronJob is due: each field a set of numbers as bits, or a fixed distance in time. */
export type CronSchedule = CronFields | { readonly everySeconds: number }

export interface CronFields {
  readonly minute: CronField
  readonly hour: CronField
  readonly dayOfMonth: CronField
  readonly month: CronField
  readonly dayOfWeek: CronField
}

export interface CronField {
  /** Bit n is set when the number n belongs to it. At most 60 bits, hence a bigint. */
  readonly bits: bigint
  /** Written with a star. Of the two day fields, one with a star leaves the choice to the other. */
  readonly star: boolean
}

interface Bounds {
  readonly min: number
  readonly max: number
  readonly names: readonly string[]
}

const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec']
const DAYS = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat']
const BOUNDS: { readonly [K in keyof CronFields]: Bounds } = {
  minute: { min: 0, max: 59, names: [] },
  hour: { min: 0, max: 23, names: [] },
  dayOfMonth: { min: 1, max: 31, names: [] },
  month: { min: 1, max: 12, names: MONTHS },
  dayOfWeek: { min: 0, max: 6, names: DAYS },
}
const MACROS: Readonly<Record<string, string>> = {
  '@yearly': '0 0 1 1 *',
  '@annually': '0 0 1 1 *',
  '@monthly': '0 0 1 * *',
  '@weekly': '0 0 * * 0',
  '@daily': '0 0 * * *',
  '@midnight': '0 0 * * *',
  '@hourly': '0 * * * *',
}

/** Enough to name each minute of an hour in several ways. */
const MAX_LENGTH = 4096

class ScheduleError extends Error {}

/** The schedule, or what is wrong with its text. */
export function parseCronSchedule(text: string): CronSchedule | string {
  try {
    return parse(text)
  } catch (error) {
    if (error instanceof ScheduleError) return error.message
    throw error
  }
}

function parse(text: string): CronSchedule {
  if (text === '') throw new ScheduleError('empty spec string')
  if (text.length > MAX_LENGTH) throw new ScheduleError(`a schedule has at most ${MAX_LENGTH} characters`)
  const schedule = text.replace(/^(?:CRON_)?TZ=\S* /, '')
  if (schedule.startsWith('@')) return parseMacro(schedule)
  const fields = schedule.split(/\s+/).filter((field) => field !== '')
  if (fields.length !== 5)
    throw new ScheduleError(`expected exactly 5 fields, found ${fields.length}: [${fields.join(' ')}]`)
  const [minute, hour, dayOfMonth, month, dayOfWeek] = fields as [string, string, string, string, string]
  return {
    minute: parseField(minute, BOUNDS.minute),
    hour: parseField(hour, BOUNDS.hour),
    dayOfMonth: parseField(dayOfMonth, BOUNDS.dayOfMonth),
    month: parseField(month, BOUNDS.month),
    dayOfWeek: parseField(dayOfWeek, BOUNDS.dayOfWeek),
  }
}

function parseMacro(text: string): CronSchedule {
  if (text.startsWith('@every ')) return { everySeconds: parseDuration(text.slice('@every '.length), text) }
  const schedule = Object.hasOwn(MACROS, text) ? MACROS[text] : undefined
  if (schedule === undefined) throw new ScheduleError(`unrecognized descriptor: ${text}`)
  return parse(schedule)
}

const UNITS: Readonly<Record<string, number>> = { ns: 1e-9, us: 1e-6, µs: 1e-6, ms: 1e-3, s: 1, m: 60, h: 3600 }

/** Nanoseconds in 64 bits: 292 years. */
const MAX_SECONDS = 2 ** 63 / 1e9

/** A duration as Go writes it (`1h30m`); shorter than a second counts as one. */
function parseDuration(duration: string, text: string): number {
  const failed = (why: string) =>
    new ScheduleError(`failed to parse duration ${text}: time: ${why} ${JSON.stringify(duration)}`)
  const unsigned = duration.replace(/^[+-]/, '')
  if (unsigned === '0') return 1
  if (!/^(?:(?:\d+(?:\.\d*)?|\.\d+)(?:ns|us|µs|ms|s|m|h))+$/.test(unsigned)) {
    if (/^(?:\d+(?:\.\d*)?|\.\d+)$/.test(unsigned)) throw failed('missing unit in duration')
    throw failed('invalid duration')
  }
  let seconds = 0
  for (const [, amount, unit] of unsigned.matchAll(/(\d+(?:\.\d*)?|\.\d+)(ns|us|µs|ms|s|m|h)/g))
    seconds += Number(amount) * UNITS[unit!]!
  if (seconds > MAX_SECONDS) throw failed('invalid duration')
  return Math.max(1, Math.trunc(duration.startsWith('-') ? -seconds : seconds))
}

/** Parts joined by commas. */
function parseField(text: string, bounds: Bounds): CronField {
  let bits = 0n
  let star = false
  for (const part of text.split(',')) {
    if (part === '') continue
    const range = parseRange(part, bounds)
    star ||= range.star
    for (let n = range.first; n <= range.last; n += range.step) bits |= 1n << BigInt(n)
  }
  return { bits, star }
}

/** `5`, `1-5`, `*`, each perhaps with a step: `1-30/5`. */
function parseRange(text: string, bounds: Bounds): { first: number; last: number; step: number; star: boolean } {
  const [range = '', stepText, ...tooMany] = text.split('/')
  if (tooMany.length > 0) throw new ScheduleError(`too many slashes: ${text}`)
  const [low = '', high, ...more] = range.split('-')
  const every = low === '*' || low === '?'
  if (!every && more.length > 0) throw new ScheduleError(`too many hyphens: ${text}`)
  const first = every ? bounds.min : parseNumber(low, bounds)
  let last = every ? bounds.max : high === undefined ? first : parseNumber(high, bounds)
  const step = stepText === undefined ? 1 : parseStep(stepText)
  // `5/10` starts at 5 and goes on to the end.
  if (stepText !== undefined && high === undefined) last = bounds.max
  checkBounds(first, last, step, text, bounds)
  return { first, last, step, star: every && step === 1 }
}

function checkBounds(first: number, last: number, step: number, text: string, bounds: Bounds): void {
  if (first < bounds.min)
    throw new ScheduleError(`beginning of range (${first}) below minimum (${bounds.min}): ${text}`)
  if (last > bounds.max) throw new ScheduleError(`end of range (${last}) above maximum (${bounds.max}): ${text}`)
  if (first > last) throw new ScheduleError(`beginning of range (${first}) beyond end of range (${last}): ${text}`)
  if (step === 0) throw new ScheduleError(`step of range should be a positive number: ${text}`)
}

function parseNumber(text: string, bounds: Bounds): number {
  const name = bounds.names.indexOf(text.toLowerCase())
  return name >= 0 ? name + bounds.min : parseStep(text)
}

function parseStep(text: string): number {
  if (!/^[+-]?\d+$/.test(text))
    throw new ScheduleError(
      `failed to parse int from ${text}: strconv.Atoi: parsing ${JSON.stringify(text)}: invalid syntax`,
    )
  const number = Number(text)
  if (number < 0) throw new ScheduleError(`negative number (${number}) not allowed: ${text}`)
  return number
}
