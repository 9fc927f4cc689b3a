import { spawn } from 'node:child_process'
import { open } from 'node:fs/promises'
import type { Readable } from 'node:stream'
import { type Instance, logPath, type RunningServer } from '../instance.ts'
import { UserError } from '../user-error.ts'
import { prepareLogFile } from './log-file.ts'
import { READY_FD, type StartReport } from './start-report.ts'

/** Starts a server in a process that outlives this one, with the settings as its argument; resolves when its API answers. */
export async function startDetached(
  settings: { readonly instance: Instance },
  serverEntry: string,
): Promise<RunningServer> {
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
    if (!report) throw new UserError(`the server ended during its start (${await exit})`, [`Its log: ${path}`])
    if ('error' in report) throw new UserError(report.error.message, report.error.hints)
    return report.ready
  } finally {
    await log.close()
  }
}

/** Undefined if the pipe closed without a report. */
async function readReport(pipe: Readable): Promise<StartReport | undefined> {
  let text = ''
  for await (const chunk of pipe) {
    text += chunk
    if (text.includes('\n')) break
  }
  pipe.destroy()
  return text === '' ? undefined : (JSON.parse(text) as StartReport)
}
