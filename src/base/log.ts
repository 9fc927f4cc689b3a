/** Levelled, structured logging. Messages are constant sentences; what varies goes into fields. */
export interface Logger {
  debug(message: string, fields?: LogFields): void
  info(message: string, fields?: LogFields): void
  warn(message: string, fields?: LogFields): void
  error(message: string, fields?: LogFields): void
  /** A logger that adds these fields to each of its lines. */
  child(fields: LogFields): Logger
}

export type LogFields = Readonly<Record<string, unknown>>
export type LogLevel = 'debug' | 'info' | 'warn' | 'error'
export type LogFormat = 'json' | 'text'

export const LOG_LEVELS: readonly LogLevel[] = ['debug', 'info', 'warn', 'error']

export interface LogOptions {
  readonly level: LogLevel
  readonly format: LogFormat
  /** Milliseconds since the epoch. */
  now(): number
  /** Takes one line, newline included. */
  write(line: string): void
}

export function createLogger(options: LogOptions): Logger {
  const format = options.format === 'json' ? jsonLine : textLine
  const threshold = LOG_LEVELS.indexOf(options.level)
  const bind = (bound: LogFields): Logger => {
    const at = (level: LogLevel) => {
      if (LOG_LEVELS.indexOf(level) < threshold) return () => {}
      return (message: string, fields?: LogFields) =>
        options.write(format(options.now(), level, message, fields ? { ...bound, ...fields } : bound))
    }
    return {
      debug: at('debug'),
      info: at('info'),
      warn: at('warn'),
      error: at('error'),
      child: (fields) => bind({ ...bound, ...fields }),
    }
  }
  return bind({})
}

/** Says nothing. */
export const silentLogger: Logger = {
  debug() {},
  info() {},
  warn() {},
  error() {},
  child: () => silentLogger,
}

function jsonLine(time: number, level: LogLevel, message: string, fields: LogFields): string {
  const line: Record<string, unknown> = { time: new Date(time).toISOString(), level, message }
  for (const name of Object.keys(fields)) line[name in line ? `field.${name}` : name] = fields[name]
  return `${safeStringify(line)}\n`
}

/** `12:03:04.567 WARN  lost the store  attempt=3 error="connection refused"` */
function textLine(time: number, level: LogLevel, message: string, fields: LogFields): string {
  let line = `${new Date(time).toISOString().slice(11, 23)} ${level.toUpperCase().padEnd(5)} ${oneLine(message)}`
  for (const name of Object.keys(fields)) line += ` ${name}=${textValue(fields[name])}`
  return `${line}\n`
}

function textValue(value: unknown): string {
  if (typeof value === 'string') return /^[^\s"=]+$/.test(value) ? value : JSON.stringify(value)
  return safeStringify(value)
}

const oneLine = (message: string) => message.replaceAll('\n', '\\n')

/** A log line must never throw: cycles and bigints are shown as text, errors with their stack. */
function safeStringify(value: unknown): string {
  try {
    return JSON.stringify(value, readable) ?? 'null'
  } catch {
    return JSON.stringify(String(value))
  }
}

function readable(_key: string, value: unknown): unknown {
  if (value instanceof Error) return value.stack ?? value.message
  return typeof value === 'bigint' ? value.toString() : value
}
