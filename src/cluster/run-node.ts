/** The process of one node, `sampan-node.js`: walks the list in node/parts.ts. */
import { rm, writeFile } from 'node:fs/promises'
import { aborted } from '../base/abort.ts'
import { systemClock } from '../base/clock.ts'
import { claim, release, thisProcess } from '../base/process-claim.ts'
import { type NodeSettings, nodeClaimPath, nodePartsPath, nodeSettingsPath } from './node/node-settings.ts'
import { NODE_PARTS } from './node/parts.ts'
import { ThisNode } from './node/this-node.ts'
import { type PartStatus, Parts } from './part.ts'
import { processLogger } from './processes/process-logger.ts'

/**
 * Runs the node whose settings are this process's argument. SIGTERM ends the node with its pods; SIGUSR1, like a crash,
 * ends the process alone, and the next one goes on with what runs. `started` is called when the node is up.
 */
export async function runNode(started: () => void): Promise<void> {
  const settings = JSON.parse(process.argv[2] ?? '{}') as NodeSettings
  const log = processLogger()
  const path = nodeClaimPath(settings.dataDir)
  const other = await claim(path, thisProcess())
  if (other) {
    log.info('the node runs already', { pid: other.pid })
    return
  }
  try {
    const stop = new AbortController()
    const asked = stopAsked().finally(() => stop.abort())
    const onChange = partsWriter(nodePartsPath(settings.dataDir))
    const parts = new Parts(NODE_PARTS, new ThisNode(settings, log), { clock: systemClock, log, onChange })
    // A start may wait long for the API server: what has started when a stop is asked for is the node.
    await Promise.race([parts.start(), aborted(stop.signal)])
    if (!stop.signal.aborted) log.info('the node is up', { node: settings.name, pid: process.pid })
    started()
    const signal = await asked
    log.info('stopping', { signal })
    if (signal === 'SIGTERM') {
      await parts.remove()
      // Nothing is left to clear away.
      await rm(nodeSettingsPath(settings.dataDir), { force: true })
    }
    await parts.stop()
    log.info('stopped')
  } catch (error) {
    log.error('the node failed', { error })
    process.exitCode = 1
  } finally {
    await release(path, process.pid)
    // Do not wait for a part that is still busy: another process has to take over.
    process.exit()
  }
}

function stopAsked(): Promise<'SIGTERM' | 'SIGUSR1'> {
  return new Promise((resolve) => {
    for (const signal of ['SIGTERM', 'SIGUSR1'] as const) process.on(signal, () => resolve(signal))
  })
}

/** Writes the latest status to a file, one write at a time. It is only informative: a failed write is ignored. */
function partsWriter(path: string): (status: readonly PartStatus[]) => void {
  let latest: readonly PartStatus[] | undefined
  let isWriting = false
  const write = async () => {
    isWriting = true
    for (let status = latest; status; status = latest) {
      latest = undefined
      await writeFile(path, JSON.stringify(status), { mode: 0o600 }).catch(() => {})
    }
    isWriting = false
  }
  return (status) => {
    latest = status
    if (!isWriting) void write()
  }
}
