import { JoinError } from '../cluster/join-error.ts'
import { CliError } from './cli-error.ts'
import type { ServerSettings } from './server-process.ts'

/** Turns what can go wrong at a start into sentences that say what to do. */
export function explain(error: unknown, settings: Pick<ServerSettings, 'apiPort' | 'instance'>): CliError {
  if (error instanceof CliError) return error
  if (error instanceof JoinError) return new CliError(error.message, error.hints)
  const { code, message } = error as NodeJS.ErrnoException
  const { dataDir } = settings.instance
  switch (code) {
    case 'EADDRINUSE':
      return new CliError(`port ${settings.apiPort} is taken by another program`, [
        `See which one: ss -ltnp 'sport = :${settings.apiPort}' (Linux) or lsof -i :${settings.apiPort} (macOS).`,
        'Use another port: sampan up --api-port 7443, or --api-port 0 for any free one.',
      ])
    case 'EACCES':
    case 'EPERM':
      if (message.includes('listen')) {
        return new CliError(`this user may not listen on port ${settings.apiPort}`, ['Use a port above 1023.'])
      }
      return new CliError(`${dataDir} cannot be used: ${message}`, ['Choose a directory of yours with --data-dir.'])
    case 'ENOSPC':
      return new CliError(`the disk under ${dataDir} is full`, ['Make room, or choose another one with --data-dir.'])
    default:
      return new CliError(message || String(error))
  }
}
