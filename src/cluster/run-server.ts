/** The detached server process, `sampan-server.js`. */
import { closeSync, writeSync } from 'node:fs'
import { systemClock } from '../base/clock.ts'
import type { Logger } from '../base/log.ts'
import { processLogger } from './processes/process-logger.ts'
import { READY_FD, type StartReport } from './processes/start-report.ts'
import { stopRequested } from './processes/stop-requested.ts'
import { explainFailure } from './server/explain-failure.ts'
import { serve } from './server/serve.ts'
import type { ServerSettings } from './server/server-settings.ts'

/** By then clients that waited for the server have had their first answers. */
const QUIET_MS = 1_000
/** A process that stopped its work ends long before that. */
const LINGER_MS = 5_000

/**
 * Serves what this process's argument says; reports its start by the pipe, logs to its standard output. `started` is called
 * when it serves and has time for something else.
 */
export async function runServer(started: () => void): Promise<void> {
  const settings = JSON.parse(process.argv[2] ?? '{}') as ServerSettings
  const log = processLogger()
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
    const { message, hints } = explainFailure(error, settings)
    report({ error: { message, hints } })
    process.exitCode = 1
  }
}

/** Something that was not closed keeps the process alive: a bug, but not one to wait for. */
function leave(log: Logger): void {
  log.warn('something is still open after the stop')
  process.exit()
}

function report(report: StartReport): void {
  try {
    writeSync(READY_FD, `${JSON.stringify(report)}\n`)
    closeSync(READY_FD)
  } catch {
    // The command that waited for the report has ended.
  }
}
