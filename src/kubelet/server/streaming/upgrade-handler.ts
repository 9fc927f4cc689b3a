import { badRequest } from '../../../api/meta/api-error.ts'
import type { Clock } from '../../../base/clock.ts'
import { servePortForward } from '../../../client/port-forward.ts'
import { acceptRemoteCommand } from '../../../client/remote-command.ts'
import type { StreamRequest, UpgradeHandler } from '../stream-request.ts'
import { runCommand } from './run-command.ts'

/** Serves exec, attach and port-forward over WebSocket and SPDY, to each client in the newest way that it knows. */
export function upgradeHandler(clock: Clock): UpgradeHandler {
  return async (request, socket, head, stream) => {
    const upgrade = { request, socket, head }
    if (stream.type === 'portForward')
      return servePortForward(upgrade, { connect: forwarding(stream), ports: stream.ports, clock })
    if (!stream.stdin && !stream.stdout && !stream.stderr)
      throw badRequest('you must specify at least 1 of stdin, stdout, stderr')
    const streams = await acceptRemoteCommand(upgrade, stream, clock)
    if (!streams) return
    const gone = new AbortController()
    void streams.closed.then(() => gone.abort())
    await runCommand(streams, () => stream.open(gone.signal))
  }
}

function forwarding(stream: Extract<StreamRequest, { type: 'portForward' }>) {
  return async (port: number) => {
    try {
      return await stream.connect(port)
    } catch (error) {
      throw new Error(`error forwarding port ${port} to pod: ${error instanceof Error ? error.message : error}`)
    }
  }
}
