import { systemClock } from '../../base/clock.ts'
import { createLogger, type Logger, type LogLevel } from '../../base/log.ts'

/** The log of a process of its own: text lines, by default to standard output, which is its log file. */
export const processLogger = (write = (line: string) => void process.stdout.write(line)): Logger =>
  createLogger({
    level: (process.env.SAMPAN_LOG_LEVEL ?? 'info') as LogLevel,
    format: 'text',
    now: () => systemClock.now(),
    write,
  })
