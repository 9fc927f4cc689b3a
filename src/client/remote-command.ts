import type { Clock } from '../base/clock.ts'
import { acceptSpdyCommand } from './streaming/command-spdy.ts'
import type { CommandStreamOptions, CommandStreams } from './streaming/command-streams.ts'
import { acceptWebSocketCommand } from './streaming/command-web-socket.ts'
import { refuseUpgrade, type Upgrade, wantsSpdy, wantsWebSocket } from './streaming/upgrade.ts'

export type { CommandStatus, CommandStreamOptions, CommandStreams } from './streaming/command-streams.ts'
export { type DialedCommand, type DialOptions, dialRemoteCommand } from './streaming/dial-command.ts'
export type { TerminalSize } from './streaming/terminal-size.ts'
export { refuseUpgrade, type Upgrade } from './streaming/upgrade.ts'

/**
 * The server's side of exec and attach: waits until the client has its streams in place. Undefined if nothing comes of
 * it; then the client has been told.
 */
export async function acceptRemoteCommand(
  upgrade: Upgrade,
  options: CommandStreamOptions,
  clock: Clock,
): Promise<CommandStreams | undefined> {
  if (wantsWebSocket(upgrade)) return acceptWebSocketCommand(upgrade, options)
  if (wantsSpdy(upgrade)) return acceptSpdyCommand(upgrade, options, clock)
  refuseUpgrade(upgrade, 400, `unable to upgrade: ${upgrade.request.headers.upgrade ?? ''} is not supported`)
  return undefined
}
