import type { Container, LifecycleHandler } from '../../api/generated/core-v1.ts'
import type { Clock } from '../../base/clock.ts'
import type { ContainerRuntime } from '../../container-runtime/runtime.ts'
import type { Dial } from '../handlers/connection.ts'
import { execCommand } from '../handlers/exec.ts'
import { httpGet, httpTarget, portOf } from '../handlers/http-get.ts'

export interface HookContext {
  readonly runtime: ContainerRuntime
  readonly clock: Clock
  readonly dial: Dial
  readonly userAgent: string
}

/** Runs a postStart or preStop handler to its end; rejects with what went wrong. */
export async function runHook(
  { runtime, clock, dial, userAgent }: HookContext,
  handler: LifecycleHandler,
  container: Container,
  containerId: string,
  podIP: string,
  signal: AbortSignal,
): Promise<void> {
  if (handler.exec) {
    const { command = [] } = handler.exec
    const { exitCode, output } = await execCommand(runtime, containerId, command, signal)
    if (exitCode !== 0) throw new Error(`command '${command.join(' ')}' exited with ${exitCode}: ${output}`)
  } else if (handler.httpGet) {
    const { status } = await httpGet(httpTarget(handler.httpGet, container, podIP), dial, signal, userAgent)
    if (status >= 400) throw new Error(`HTTP lifecycle hook failed with statuscode: ${status}`)
  } else if (handler.tcpSocket) {
    const { host = podIP, port } = handler.tcpSocket
    const socket = await dial({ host: host || podIP, port: portOf(port, container) }, signal)
    socket.destroy()
  } else if (handler.sleep) {
    await clock.sleep(handler.sleep.seconds * 1000, signal)
  }
}
