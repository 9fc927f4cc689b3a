import { ApiError } from '../../../api/meta/api-error.ts'
import type { Clock } from '../../../base/clock.ts'
import { servePortForward } from '../../../client/port-forward.ts'
import { acceptRemoteCommand, refuseUpgrade, type Upgrade } from '../../../client/remote-command.ts'
import type { ContainerRuntime } from '../../../container-runtime/runtime.ts'
import { runCommand } from './run-command.ts'
import {
  type CommandPath,
  type ContainerTarget,
  type PodTarget,
  type PortForwardPath,
  parseStreamPath,
} from './stream-path.ts'

export type { ContainerTarget, PodTarget } from './stream-path.ts'

/** Where the streams lead to. */
export interface StreamTargets {
  readonly runtime: Pick<ContainerRuntime, 'exec' | 'attach' | 'portForward'>
  readonly clock: Clock
  /** The id of a running container; an ApiError if there is none. */
  containerId(target: ContainerTarget): Promise<string>
  /** The id of a pod's sandbox; an ApiError if there is none. */
  sandboxId(target: PodTarget): Promise<string>
}

/**
 * Serves exec, attach and port-forward on a connection that asks for an upgrade; the caller has made sure of who it is.
 * Resolves when the connection is done with. False if the path is none of these: then nothing was done.
 */
export async function serveStreams(targets: StreamTargets, upgrade: Upgrade): Promise<boolean> {
  try {
    const path = parseStreamPath(upgrade.request.url ?? '')
    if (!path) return false
    await (path.type === 'portForward' ? forwardPorts(targets, upgrade, path) : command(targets, upgrade, path))
  } catch (error) {
    const { code, message } = error instanceof ApiError ? error : { code: 500, message: textOf(error) }
    refuseUpgrade(upgrade, code, message)
  }
  return true
}

async function command(targets: StreamTargets, upgrade: Upgrade, path: CommandPath): Promise<void> {
  const id = await targets.containerId(path.target)
  const streams = await acceptRemoteCommand(upgrade, path.streams, targets.clock)
  if (!streams) return
  const { runtime } = targets
  await runCommand(streams, () =>
    path.type === 'exec'
      ? runtime.exec(id, { ...path.streams, command: path.command })
      : runtime.attach(id, path.streams),
  )
}

async function forwardPorts(targets: StreamTargets, upgrade: Upgrade, path: PortForwardPath): Promise<void> {
  const sandbox = await targets.sandboxId(path.target)
  const { pod, namespace, uid } = path.target
  const connect = async (port: number) => {
    try {
      return await targets.runtime.portForward(sandbox, port)
    } catch (error) {
      throw new Error(`error forwarding port ${port} to pod ${pod}_${namespace}, uid ${uid}: ${textOf(error)}`)
    }
  }
  await servePortForward(upgrade, { connect, ports: path.ports, clock: targets.clock })
}

const textOf = (error: unknown) => (error instanceof Error ? error.message : String(error))
