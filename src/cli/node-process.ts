import { rm } from 'node:fs/promises'
import { systemClock } from '../base/clock.ts'
import { createLogger, type LogLevel } from '../base/log.ts'
import { claim, release, thisProcess } from '../base/process-claim.ts'
import { type NodeSettings, nodeClaimPath, nodeSettingsPath } from '../cluster/node-settings.ts'
import { startNode } from '../cluster/start-node.ts'

/**
 * The process of one node: settings come as its argument. SIGTERM ends the node with its pods; SIGUSR1, like a crash,
 * ends the process alone, and the next one goes on with what runs. `started` is called when the node is up.
 */
export async function runNode(started: () => void): Promise<void> {
  const settings = JSON.parse(process.argv[2] ?? '{}') as NodeSettings
  const log = createLogger({
    level: (process.env.SAMPAN_LOG_LEVEL ?? 'info') as LogLevel,
    format: 'text',
    now: () => systemClock.now(),
    write: (line) => void process.stdout.write(line),
  })
  const path = nodeClaimPath(settings.dataDir)
  const other = await claim(path, thisProcess())
  if (other) {
    log.info('the node runs already', { pid: other.pid })
    return
  }
  try {
    const stop = new AbortController()
    const asked = stopAsked().finally(() => stop.abort())
    const node = await startNode(settings, log, stop.signal)
    if (!stop.signal.aborted) log.info('the node is up', { node: settings.name, pid: process.pid })
    started()
    const signal = await asked
    log.info('stopping', { signal })
    if (signal === 'SIGTERM') {
      await node.remove()
      // Nothing is left for others to clear away.
      await rm(nodeSettingsPath(settings.dataDir), { force: true })
    }
    await node[Symbol.asyncDispose]()
    log.info('stopped')
  } catch (error) {
    log.error('the node failed', { error })
    process.exitCode = 1
  } finally {
    await release(path, process.pid)
    // Whatever part is still busy: another process has to take over.
    process.exit()
  }
}

function stopAsked(): Promise<'SIGTERM' | 'SIGUSR1'> {
  return new Promise((resolve) => {
    for (const signal of ['SIGTERM', 'SIGUSR1'] as const) process.on(signal, () => resolve(signal))
  })
}
