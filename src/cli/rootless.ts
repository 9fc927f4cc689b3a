/**
 * Without root the server lives in a user namespace, where this user is root and has a network to do with as it likes. Only
 * the API's port is outside: connections to it go in through a socket file, which both sides can open. What those inside
 * want of the world comes out through another.
 *
 *     kubectl ── 127.0.0.1:6443 ── this process ── api.sock ──── server (inside) ── nodes, pods (inside)
 *             the world outside ── this process ── egress.sock ────────┘
 *
 * The two processes end together: the inner one is a child of this one, and learns of its end by a connection to it.
 */
import { rm } from 'node:fs/promises'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { join } from 'node:path'
import { systemClock } from '../base/clock.ts'
import type { Logger } from '../base/log.ts'
import { socketPath } from '../base/socket-path.ts'
import { networkRanges, rangesIn } from '../cluster/network-ranges.ts'
import { NODE_NETWORKS } from '../cluster/node-networks.ts'
import { kernelLinux } from '../linux/kernel-linux.ts'
import { spawnInUserNamespace, UserNamespaceForbidden } from '../linux/user-namespace.ts'
import { CliError } from './cli-error.ts'
import { startEgress } from './egress/inside.ts'
import { NAMESERVER } from './egress/nameservers.ts'
import { serveOutside } from './egress/outside.ts'
import { findServer, flagsOf, type Instance, type RunningServer } from './instance/instance.ts'
import { type ServerSettings, type ServingCluster, serveCluster } from './server-process.ts'

const apiSocketPath = (instance: Instance) => socketPath(join(instance.dataDir, 'api.sock'))
const egressSocketPath = (instance: Instance) => socketPath(join(instance.dataDir, 'egress.sock'))
const LOOPBACK = '127.0.0.1'
const START_PATIENCE = 30_000
const INTERVAL = 20

/** Starts the server inside and forwards the port; with `nodesOptional`, goes on without nodes where that is forbidden. */
export async function serveFromOutside(settings: ServerSettings, log: Logger, entry: string): Promise<ServingCluster> {
  const { instance } = settings
  const path = apiSocketPath(instance)
  const forwarder = await forward({ host: LOOPBACK, port: settings.apiPort }, { path })
  const apiPort = (forwarder.address() as AddressInfo).port
  const inside: ServerSettings = { ...settings, apiPort, isInside: true, upstreamDns: [NAMESERVER] }
  const outside = await serveOutside(egressSocketPath(instance), systemClock)
  try {
    const child = await spawnInUserNamespace(process.execPath, [entry, JSON.stringify(inside)], environment())
    const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()))
    const server = await whenServing(instance, ended)
    return {
      server,
      ended,
      async [Symbol.asyncDispose]() {
        child.kill('SIGTERM')
        await ended
        close(forwarder)
        await outside[Symbol.asyncDispose]()
      },
    }
  } catch (error) {
    close(forwarder)
    await outside[Symbol.asyncDispose]()
    if (!(error instanceof UserNamespaceForbidden)) throw error
    if (!settings.nodesOptional) throw new CliError(error.message, ['For a cluster without nodes: sampan up --nodes 0'])
    log.warn('no real pods for this user', { error: error.message })
    return serveCluster({ ...settings, nodes: 0 }, log)
  }
}

/** The other end, inside: lets connections in to the API server. */
export async function serveInside(settings: ServerSettings, log: Logger): Promise<ServingCluster> {
  const path = apiSocketPath(settings.instance)
  const linux = kernelLinux()
  const ranges = await networkRanges(settings.instance.dataDir, linux, settings.store.startsWith('etcd'))
  const egress = await startEgress({
    linux,
    path: egressSocketPath(settings.instance),
    inside: [...rangesIn(ranges), NODE_NETWORKS],
    log,
  })
  const serving = await serveCluster(settings, log)
  await rm(path, { force: true })
  const door = await forward({ path }, { host: LOOPBACK, port: Number(new URL(serving.server.url).port) })
  return {
    server: serving.server,
    ended: egress.abandoned,
    async [Symbol.asyncDispose]() {
      close(door)
      await serving[Symbol.asyncDispose]()
      await egress[Symbol.asyncDispose]()
      await rm(path, { force: true })
    },
  }
}

type Place = { readonly path: string } | { readonly host: string; readonly port: number }

function forward(from: Place, to: Place): Promise<Server> {
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    const other = connect({ ...to, allowHalfOpen: true })
    pipeTo(socket, other)
    pipeTo(other, socket)
  })
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(from, () => resolve(server))
  })
}

function pipeTo(from: Socket, to: Socket): void {
  from.setNoDelay(true)
  from.pipe(to)
  from.on('error', () => to.destroy())
  from.on('close', () => to.destroySoon())
}

/** Takes no more connections; watches that are open end with the process. */
function close(server: Server): void {
  server.close()
  server.unref()
}

async function whenServing(instance: Instance, ended: Promise<void>): Promise<RunningServer> {
  let hasEnded = false
  void ended.then(() => {
    hasEnded = true
  })
  for (const end = systemClock.now() + START_PATIENCE; !hasEnded && systemClock.now() < end; ) {
    const server = await findServer(instance)
    if (server && server.url !== '' && (await isOpen(apiSocketPath(instance)))) return server
    await systemClock.sleep(INTERVAL)
  }
  throw new CliError('the server ended during its start', [`Its log: sampan logs${flagsOf(instance)}`])
}

function isOpen(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ path }, () => {
      socket.destroy()
      resolve(true)
    })
    socket.on('error', () => resolve(false))
  })
}

const environment = () =>
  Object.fromEntries(
    Object.entries(process.env).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  )
