/** What `sampan up` does: finds the cluster that runs, or starts one. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { systemClock } from '../base/clock.ts'
import type { ClusterConfiguration } from './configuration.ts'
import { prepareToPublish, publishContext, publishedPath } from './credentials/published-context.ts'
import { findServer, flagsOf, type Instance, type RunningServer, readSavedConfiguration } from './instance.ts'
import { startDetached } from './processes/start-detached.ts'
import { thisMachine } from './resolve/machine-facts.ts'
import { resolveConfiguration } from './resolve/resolve-configuration.ts'
import type { Foreground } from './server/serve-here.ts'
import type { ServerSettings } from './server/server-settings.ts'
import { UserError } from './user-error.ts'

export interface UpRequest {
  readonly instance: Instance
  /** What was asked for; the rest is as it was at the last start, or has its default. */
  readonly configuration: ClusterConfiguration
  /** The file that gets the cluster's context; the first that kubectl reads by default. */
  readonly kubeconfig?: string
  /** In a process that outlives this one. */
  readonly detach: boolean
  /** The program of such a process, `sampan-server.js`. */
  readonly serverEntry: string
}

export interface UpResult {
  readonly server: RunningServer
  readonly configuration: ClusterConfiguration
  readonly kubeconfig: string
  /** Whether it ran before. */
  readonly wasRunning: boolean
  /** If this process serves the cluster. */
  readonly foreground?: Foreground
}

const START_TIMEOUT = 30_000
const INTERVAL = 20

export async function up(request: UpRequest): Promise<UpResult> {
  const { instance } = request
  const running = await findServer(instance)
  assertNotJoined(instance, running)
  if (running) return alreadyUp(request, running)
  const saved = await readSavedConfiguration(instance)
  const resolved = resolveConfiguration(request.configuration, saved, thisMachine())
  try {
    return await start(request, { ...resolved, instance, kubeconfig: publishedPath(request.kubeconfig) })
  } catch (error) {
    // Of two starts at the same time, the second finds the first.
    const other = await findServer(instance)
    if (!other) throw error
    return alreadyUp(request, other)
  }
}

function assertNotJoined(instance: Instance, running: RunningServer | undefined): void {
  if (!running?.joinedAs && !existsSync(join(instance.dataDir, 'join.json'))) return
  throw new UserError(`${instance.dataDir} belongs to a node of another cluster`, [
    `Start that node: sampan join${flagsOf(instance)}`,
    'Or give the cluster another place: sampan up --name other',
  ])
}

async function start(
  { detach, serverEntry }: UpRequest,
  settings: ServerSettings & { readonly kubeconfig: string },
): Promise<UpResult> {
  const { instance, configuration, kubeconfig } = settings
  const result = { configuration, kubeconfig, wasRunning: false }
  if (detach) {
    const [server] = await Promise.all([startDetached(settings, serverEntry), prepareToPublish()])
    await publishContext(instance, kubeconfig)
    return { ...result, server }
  }
  const { serveHere } = await import('./server/serve-here.ts')
  const foreground = await serveHere(settings, serverEntry)
  try {
    await publishContext(instance, kubeconfig)
  } catch (error) {
    await foreground[Symbol.asyncDispose]()
    throw error
  }
  return { ...result, server: foreground.server, foreground }
}

async function alreadyUp(request: UpRequest, found: RunningServer): Promise<UpResult> {
  const { instance, configuration: asked } = request
  const server = await whenServing(instance, found)
  const port = Number(new URL(server.url).port)
  if (asked.store !== undefined && asked.store !== server.store)
    throw different(instance, `with --store ${server.store}`)
  if (asked.apiPort && asked.apiPort !== port) throw different(instance, `on port ${port}`)
  const kubeconfig = publishedPath(request.kubeconfig ?? server.kubeconfig)
  await publishContext(instance, kubeconfig)
  return { server, configuration: await readSavedConfiguration(instance), kubeconfig, wasRunning: true }
}

/** Waits for a server that another command is starting. */
async function whenServing(instance: Instance, found: RunningServer): Promise<RunningServer> {
  let server: RunningServer | undefined = found
  for (const end = systemClock.now() + START_TIMEOUT; server && systemClock.now() < end; ) {
    if (server.url !== '') return server
    await systemClock.sleep(INTERVAL)
    server = await findServer(instance)
  }
  throw new UserError(`cluster ${instance.name} was being started by process ${found.pid}, and did not come up`)
}

function different(instance: Instance, how: string): UserError {
  return new UserError(`cluster ${instance.name} runs already, ${how}`, [
    `Stop it first: sampan down${flagsOf(instance)}`,
    'Or start another beside it: sampan up --name other --api-port 0',
  ])
}
