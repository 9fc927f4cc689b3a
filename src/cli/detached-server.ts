import { closeSync, writeSync } from 'node:fs'
import { systemClock } from '../base/clock.ts'
import { createLogger, type Logger, type LogLevel } from '../base/log.ts'
import { explain } from './explain.ts'
import { serve } from './serve.ts'
import { type ServerSettings, stopRequested } from './server-process.ts'
import { READY_FD, type StartReport } from './start-report.ts'

/** By then those who waited for the server have had their first answers. */
const QUIET_MS = 1_000
/** A process that stopped its work is gone long before that. */
const LINGER_MS = 5_000

/**
 * The detached process: settings come as its argument, the start report leaves by the pipe, logs go to the file.
 * `started` is called when it serves and has time for something else.
 */
export async function runDetachedServer(started: () => void): Promise<void> {
  const settings = JSON.parse(process.argv[2] ?? '{}') as ServerSettings
  const level = (process.env.SAMPAN_LOG_LEVEL ?? 'info') as LogLevel
  const log = createLogger({
    level,
    format: 'text',
    now: () => systemClock.now(),
    write: (line) => void process.stdout.write(line),
  })
  try {
    const serving = await serve(settings, log, process.argv[1]!)
    const stop = stopRequested()
    report({ ready: serving.server })
    systemClock.after(QUIET_MS, started).unref()
    const signal = await Promise.race([stop, ...(serving.ended ? [serving.ended] : [])])
    log.info('stopping', { signal })
    await serving[Symbol.asyncDispose]()
    log.info('stopped')
    systemClock.after(LINGER_MS, () => leave(log)).unref()
  } catch (error) {
    log.error('the server failed', { error })
    const { message, hints } = explain(error, settings)
    report({ error: { message, hints } })
    process.exitCode = 1
  }
}

/** Something that was not closed keeps the process: a fault of ours, for which nobody shall wait. */
function leave(log: Logger): void {
  log.warn('something is still open after the stop')
  process.exit()
}

function report(report: StartReport): void {
  try {
    writeSync(READY_FD, `${JSON.stringify(report)}\n`)
    closeSync(READY_FD)
  } catch {
    // Nobody waits any more.
  }
}
