import type { Container, Probe } from '../../api/generated/core-v1.ts'
import type { ContainerRuntime } from '../../container-runtime/runtime.ts'
import type { Dial } from '../handlers/connection.ts'
import { execCommand } from '../handlers/exec.ts'
import { grpcHealth } from '../handlers/grpc-health.ts'
import { httpGet, httpTarget, portOf } from '../handlers/http-get.ts'

/** What one probe found. An error is neither: the probe could not be made. */
export interface ProbeOutcome {
  readonly result: 'Success' | 'Failure' | 'Warning'
  readonly output: string
}

export interface ProbeContext {
  readonly runtime: ContainerRuntime
  readonly dial: Dial
  readonly userAgent: string
}

export interface ProbeTarget {
  readonly container: Container
  readonly containerId: string
  readonly podIP: string
}

export async function runProbe(
  context: ProbeContext,
  probe: Probe,
  target: ProbeTarget,
  signal: AbortSignal,
): Promise<ProbeOutcome> {
  if (probe.exec) return execProbe(context, probe, target, signal)
  try {
    if (probe.httpGet) return await httpProbe(context, probe, target, signal)
    if (probe.tcpSocket) return await tcpProbe(context, probe, target, signal)
    if (probe.grpc) return await grpcProbe(context, probe, target, signal)
  } catch (error) {
    return { result: 'Failure', output: (error as Error).message }
  }
  throw new Error(`missing probe handler for ${target.container.name}`)
}

async function execProbe({ runtime }: ProbeContext, probe: Probe, { containerId }: ProbeTarget, signal: AbortSignal) {
  const command = probe.exec?.command ?? []
  const { exitCode, output } = await execCommand(runtime, containerId, command, signal)
  if (signal.aborted) {
    const seconds = probe.timeoutSeconds ?? 1
    return failure(`command timed out: "${command.join(' ')}" timed out after ${seconds}s`)
  }
  return exitCode === 0 ? success(output) : failure(output)
}

async function httpProbe(
  { dial, userAgent }: ProbeContext,
  { httpGet: action }: Probe,
  { container, podIP }: ProbeTarget,
  signal: AbortSignal,
): Promise<ProbeOutcome> {
  const { status, body, leftHost } = await httpGet(httpTarget(action!, container, podIP), dial, signal, userAgent)
  if (leftHost) return { result: 'Warning', output: `Probe terminated redirects, Response body: ${body}` }
  if (status >= 200 && status < 400) return success(body)
  return failure(`HTTP probe failed with statuscode: ${status}`)
}

async function tcpProbe({ dial }: ProbeContext, probe: Probe, { container, podIP }: ProbeTarget, signal: AbortSignal) {
  const { host, port } = probe.tcpSocket!
  const socket = await dial({ host: host || podIP, port: portOf(port, container) }, signal)
  socket.destroy()
  return success('')
}

async function grpcProbe({ dial, userAgent }: ProbeContext, probe: Probe, { podIP }: ProbeTarget, signal: AbortSignal) {
  const { port, service = '' } = probe.grpc!
  const address = { host: podIP, port }
  const status = await grpcHealth(address, service, dial, signal, userAgent).catch((error: Error) => {
    const text = `${podIP}:${port}`
    if (signal.aborted)
      throw new Error(
        `timeout: failed to connect service "${text}" within ${probe.timeoutSeconds ?? 1}s: ${error.message}`,
      )
    throw new Error(`error: ${error.message}`)
  })
  if (status === 'SERVING') return success(`service healthy (responded with "${status}")`)
  return failure(`service unhealthy (responded with "${status}")`)
}

const success = (output: string): ProbeOutcome => ({ result: 'Success', output })
const failure = (output: string): ProbeOutcome => ({ result: 'Failure', output })
