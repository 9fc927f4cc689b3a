import { spawn } from 'node:child_process'
import { open } from 'node:fs/promises'
import type { Readable } from 'node:stream'
import { CliError } from '../cli-error.ts'
import type { ServerSettings } from '../server-process.ts'
import { READY_FD, type StartReport } from '../start-report.ts'
import { logPath, type RunningServer } from './instance.ts'
import { prepareLogFile } from './log-file.ts'

/** Starts the server in a process of its own that outlives this one; resolves when its API answers. */
export async function startDetached(settings: ServerSettings, serverEntry: string): Promise<RunningServer> {
  await prepareLogFile(settings.instance)
  const path = logPath(settings.instance)
  const log = await open(path, 'a', 0o600)
  try {
    const child = spawn(process.execPath, [serverEntry, JSON.stringify(settings)], {
      detached: true,
      stdio: ['ignore', log.fd, log.fd, 'pipe'],
      cwd: '/',
    })
    const exit = new Promise<string>((resolve) => {
      child.once('exit', (code, signal) => resolve(signal ?? `exit code ${code}`))
      child.once('error', (error) => resolve(error.message))
    })
    const report = await readReport(child.stdio[READY_FD] as Readable)
    child.unref()
    if (!report) throw new CliError(`the server ended during its start (${await exit})`, [`Its log: ${path}`])
    if ('error' in report) throw new CliError(report.error.message, report.error.hints)
    return report.ready
  } finally {
    await log.close()
  }
}

/** Undefined if the pipe closed without a word. */
async function readReport(pipe: Readable): Promise<StartReport | undefined> {
  let text = ''
  for await (const chunk of pipe) {
    text += chunk
    if (text.includes('\n')) break
  }
  pipe.destroy()
  return text === '' ? undefined : (JSON.parse(text) as StartReport)
}
