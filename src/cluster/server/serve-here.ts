/** Serves in the process that the user started, until it is asked to stop. */
import { createWriteStream } from 'node:fs'
import { logPath, type RunningServer } from '../instance.ts'
import { prepareLogFile } from '../processes/log-file.ts'
import { processLogger } from '../processes/process-logger.ts'
import { stopRequested } from '../processes/stop-requested.ts'
import { explainFailure } from './explain-failure.ts'
import { serve } from './serve.ts'
import type { ServerSettings } from './server-settings.ts'

/** What this process serves. Dispose it to stop. */
export interface Foreground extends AsyncDisposable {
  readonly server: RunningServer
  /** Resolves when the user asks to stop, or when it ends by itself. */
  readonly stopRequested: Promise<unknown>
}

export async function serveHere(settings: ServerSettings, entry: string): Promise<Foreground> {
  await prepareLogFile(settings.instance)
  const file = createWriteStream(logPath(settings.instance), { flags: 'a', mode: 0o600 })
  const log = processLogger((line) => void file.write(line))
  const serving = await serve(settings, log, entry).catch((error: unknown) => {
    throw explainFailure(error, settings)
  })
  const stop = stopRequested()
  return {
    server: serving.server,
    stopRequested: serving.ended ? Promise.race([stop, serving.ended]) : stop,
    [Symbol.asyncDispose]: () => Promise.resolve(serving[Symbol.asyncDispose]()),
  }
}
