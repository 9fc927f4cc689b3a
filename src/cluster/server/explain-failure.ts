import { valueFor } from '../configuration.ts'
import { UserError } from '../user-error.ts'
import type { ServerSettings } from './server-settings.ts'

/** Turns failures of a start into sentences that say what to do. */
export function explainFailure(
  error: unknown,
  { instance, configuration }: Pick<ServerSettings, 'configuration' | 'instance'>,
): UserError {
  if (error instanceof UserError) return error
  const { code, message } = error as NodeJS.ErrnoException
  const { dataDir } = instance
  const port = valueFor(configuration, 'apiPort')
  switch (code) {
    case 'EADDRINUSE':
      return new UserError(`port ${port} is taken by another program`, [
        `See which one: ss -ltnp 'sport = :${port}' (Linux) or lsof -i :${port} (macOS).`,
        'Use another port: sampan up --api-port 7443, or --api-port 0 for any free one.',
      ])
    case 'EACCES':
    case 'EPERM':
      if (message.includes('listen')) {
        return new UserError(`this user may not listen on port ${port}`, ['Use a port above 1023.'])
      }
      return new UserError(`${dataDir} cannot be used: ${message}`, ['Choose a directory of yours with --data-dir.'])
    case 'ENOSPC':
      return new UserError(`the disk under ${dataDir} is full`, ['Make room, or choose another one with --data-dir.'])
    default:
      return new UserError(message || String(error))
  }
}
