/** What `sampan up` in the foreground loads beyond the command line itself; `--detach` never needs it. */
import { createWriteStream } from 'node:fs'
import { systemClock } from '../base/clock.ts'
import { createLogger, type Logger, type LogLevel } from '../base/log.ts'
import { type Instance, logPath } from './instance/instance.ts'
import { prepareLogFile } from './instance/log-file.ts'

export { explain } from './explain.ts'
export { serve } from './serve.ts'
export { stopRequested } from './server-process.ts'

export async function openServerLog(instance: Instance): Promise<Logger> {
  await prepareLogFile(instance)
  const file = createWriteStream(logPath(instance), { flags: 'a', mode: 0o600 })
  return createLogger({
    level: (process.env.SAMPAN_LOG_LEVEL ?? 'info') as LogLevel,
    format: 'text',
    now: () => systemClock.now(),
    write: (line) => void file.write(line),
  })
}
