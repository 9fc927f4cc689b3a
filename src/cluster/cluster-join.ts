/** What `sampan join` does: makes this machine a node of a cluster on another one, or starts that node again. */
import { existsSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join as joinPath } from 'node:path'
import type { BootstrapToken } from '../api/kinds/core/bootstrap-token.ts'
import { systemClock } from '../base/clock.ts'
import { type ClusterConfiguration, mergeConfiguration } from './configuration.ts'
import { findServer, flagsOf, type Instance } from './instance.ts'
import type { JoinOptions, Membership } from './join/membership.ts'
import { startDetached } from './processes/start-detached.ts'
import { thisMachine } from './resolve/machine-facts.ts'
import { nodeNameOf } from './resolve/resolve-listening.ts'
import { askedRuntime, requireRuntime } from './resolve/resolve-runtime.ts'
import type { Foreground } from './server/serve-here.ts'
import { UserError } from './user-error.ts'

export interface JoinRequest {
  readonly instance: Instance
  /** Where the API server is; not needed by a machine that joined before, as the token. */
  readonly server?: URL
  readonly token?: BootstrapToken
  /** `sha256:` and hex. */
  readonly caCertHashes: readonly string[]
  /** Trust every server that knows the token. */
  readonly skipCaVerification: boolean
  readonly configuration: ClusterConfiguration
  readonly detach: boolean
  /** The program of a detached process, `sampan-server.js`. */
  readonly serverEntry: string
  /** Called at each step that takes a while. */
  onStep?(step: string): void
}

export interface JoinResult {
  readonly name: string
  /** Of the cluster. */
  readonly server: string
  readonly pid: number
  readonly wasRunning: boolean
  readonly address?: string
  /** Whether the cluster says that the node is ready; undefined if a stop was asked for meanwhile. */
  readonly isReady: boolean | undefined
  readonly logFile?: string
  /** If this process looks after the node. */
  readonly foreground?: Foreground
}

const READY_TIMEOUT = 60_000
const HOW = '"sampan token create --print-join-command" on the first machine prints the whole command.'

export async function join(request: JoinRequest): Promise<JoinResult> {
  const { instance } = request
  assertPossible()
  const running = await findServer(instance)
  if (running?.joinedAs)
    return { name: running.joinedAs, server: running.url, pid: running.pid, wasRunning: true, isReady: true }
  if (running || existsSync(joinPath(instance.dataDir, 'store')))
    throw new UserError(`${instance.dataDir} holds a cluster of this machine`, [
      'Give the node another place: sampan join --name other ...',
      'A machine that runs a cluster with --listen is a node of that one.',
    ])
  return start(request, await membershipOf(request))
}

function assertPossible(): void {
  if (process.platform !== 'linux') throw new UserError(`a node needs Linux, this is ${process.platform}`)
  if (process.getuid?.() !== 0) throw new UserError('a machine becomes a node as root', ['Run it with sudo.'])
}

/** The membership of the last time, or a new one, with a token. */
async function membershipOf(request: JoinRequest): Promise<Membership> {
  const { instance, configuration } = request
  const { isStillMember, readMembership } = await import('./join/membership.ts')
  const known = await readMembership(instance.dataDir)
  if (known && isOther(known, request))
    throw new UserError(`this machine is node ${known.node.name} of ${known.server}`, [
      `To leave that cluster: sampan down --delete${flagsOf(instance)}`,
    ])
  const runtime = askedRuntime(configuration)
  if (runtime) requireRuntime(runtime, thisMachine())
  const chosen = mergeConfiguration(known?.chosen ?? {}, configuration)
  if (known && (await isStillMember(known, systemClock.now()))) return { ...known, chosen }
  if (known && request.token === undefined)
    throw new UserError(`the certificate of node ${known.node.name} has expired`, [`Join again with a token: ${HOW}`])
  const nodeName = nodeNameOf(configuration.nodeName ?? known?.node.name, thisMachine())
  return becomeMember(request, { ...discovery(request, known), nodeName, chosen })
}

const isOther = (known: Membership, { server, configuration: { nodeName } }: JoinRequest) =>
  (server !== undefined && server.origin !== known.server) || (nodeName !== undefined && nodeName !== known.node.name)

/** The cluster to join, and how to recognise it. */
function discovery(request: JoinRequest, known: Membership | undefined) {
  const { token, caCertHashes, skipCaVerification } = request
  const server = request.server ?? (known && new URL(known.server))
  const usage = { exitCode: 2 }
  if (!server) throw new UserError('join which cluster?', [HOW], usage)
  if (!token) throw new UserError('a machine joins with a token: --token', [HOW], usage)
  if (caCertHashes.length === 0 && !skipCaVerification)
    throw new UserError(
      'which cluster is the right one? --discovery-token-ca-cert-hash',
      [HOW, 'To trust every server that knows the token: --discovery-token-unsafe-skip-ca-verification'],
      usage,
    )
  return { server, token, caCertHashes }
}

async function becomeMember(
  { instance, onStep }: JoinRequest,
  asked: Omit<JoinOptions, 'dataDir' | 'linux' | 'clock'>,
): Promise<Membership> {
  const [{ becomeMember }, { kernelLinux }] = await Promise.all([
    import('./join/membership.ts'),
    import('../linux/kernel-linux.ts'),
  ])
  const { dataDir } = instance
  const isNew = !existsSync(dataDir)
  onStep?.('joining the cluster')
  try {
    return await becomeMember({ ...asked, dataDir, linux: kernelLinux(), clock: systemClock })
  } catch (error) {
    if (isNew) await rm(dataDir, { recursive: true, force: true })
    throw error
  }
}

async function start(request: JoinRequest, membership: Membership): Promise<JoinResult> {
  const { instance, detach, serverEntry, onStep } = request
  const settings = { instance, configuration: {}, membership }
  onStep?.('starting the node')
  const foreground = detach
    ? undefined
    : await (await import('./server/serve-here.ts')).serveHere(settings, serverEntry)
  const { pid } = foreground?.server ?? (await startDetached(settings, serverEntry))
  onStep?.('waiting for the node to become ready')
  const ready = isReady(membership)
  const { name, address, dataDir } = membership.node
  return {
    name,
    server: membership.server,
    pid,
    wasRunning: false,
    address,
    isReady: await (foreground ? Promise.race([ready, foreground.stopRequested.then(() => undefined)]) : ready),
    logFile: joinPath(dataDir, 'node.log'),
    ...(foreground && { foreground }),
  }
}

async function isReady(membership: Membership): Promise<boolean> {
  const { whenReady } = await import('./join/joined-node.ts')
  return whenReady(membership, systemClock, AbortSignal.timeout(READY_TIMEOUT)).then(
    () => true,
    () => false,
  )
}
