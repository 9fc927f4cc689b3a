/** What `sampan down` does: stops a cluster, or the node that joined one. */
import { existsSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { systemClock } from '../base/clock.ts'
import { silentLogger } from '../base/log.ts'
import { isAlive } from '../base/process-claim.ts'
import { kubeconfigPaths } from '../client/kubeconfig.ts'
import { removeTree } from '../linux/remove-tree.ts'
import { forgetContext } from './credentials/published-context.ts'
import { findServer, type Instance, type RunningServer, readSavedConfiguration, releaseServer } from './instance.ts'
import { UserError } from './user-error.ts'

export interface DownRequest {
  readonly instance: Instance
  /** A further kubeconfig file that has the cluster's context. */
  readonly kubeconfig?: string
  /** Delete the state too. */
  readonly delete: boolean
}

export interface DownResult {
  readonly wasRunning: boolean
  /** Which node of which cluster this machine is, if it joined one. */
  readonly joined?: { readonly name: string; readonly server: string }
  /** The kubeconfig files that lost the context. */
  readonly kubeconfigs: readonly string[]
  /** State in an etcd, which is never deleted. */
  readonly etcd?: string
}

/** How long an orderly stop may take before the process is killed. */
const STOP_TIMEOUT = 90_000
const INTERVAL = 20

export async function down(request: DownRequest): Promise<DownResult> {
  const { instance } = request
  const server = await findServer(instance)
  if (server) await stop(server)
  await releaseServer(instance, server?.pid ?? 0)
  await stopLeftNodes(instance)
  const files = [request.kubeconfig, server?.kubeconfig, ...kubeconfigPaths()].filter((path) => path !== undefined)
  const kubeconfigs = await forgetContext(instance, files)
  const joined = await joinedNode(instance)
  const result = { wasRunning: server !== undefined, kubeconfigs, ...(joined && { joined }) }
  return request.delete ? { ...result, ...(await deleteState(instance)) } : result
}

async function joinedNode({ dataDir }: Instance): Promise<DownResult['joined']> {
  if (!existsSync(join(dataDir, 'join.json'))) return undefined
  const { readMembership } = await import('./join/membership.ts')
  const membership = await readMembership(dataDir)
  return membership && { name: membership.node.name, server: membership.server }
}

/** Nodes outlive a server that was killed. */
async function stopLeftNodes({ dataDir }: Instance): Promise<void> {
  if (!existsSync(join(dataDir, 'nodes')) || process.platform !== 'linux') return
  const [{ LocalNodes }, { kernelLinux }] = await Promise.all([
    import('./local-nodes/local-nodes.ts'),
    import('../linux/kernel-linux.ts'),
  ])
  await LocalNodes.stopLeft({ linux: kernelLinux(), dataDir, clock: systemClock, log: silentLogger })
}

async function deleteState(instance: Instance): Promise<Pick<DownResult, 'etcd'>> {
  if (!(await holdsOnlyClusterData(instance.dataDir)))
    throw new UserError(`${instance.dataDir} does not look like the data of a cluster; it was left alone`)
  const { store = '' } = await readSavedConfiguration(instance)
  await removeTree(instance.dataDir)
  return store.startsWith('etcd') ? { etcd: store } : {}
}

const CLUSTER_DATA =
  /^(pki|store(\.before-.*|\.restoring)?|(configuration|join|server|network)\.json|admin\.kubeconfig|(server|audit)\.log(\.1)?|(control|api|egress)\.sock|nodes|volumes)$/

/** A mistyped --data-dir must not delete other files. */
export async function holdsOnlyClusterData(directory: string): Promise<boolean> {
  const names = await readdir(directory).catch(() => [])
  return names.every((name) => CLUSTER_DATA.test(name))
}

async function stop(server: RunningServer): Promise<void> {
  try {
    process.kill(server.pid, 'SIGTERM')
    if (await isGone(server)) return
    process.kill(server.pid, 'SIGKILL')
    if (!(await isGone(server))) throw new UserError(`process ${server.pid} does not end`)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'EPERM')
      throw new UserError(`process ${server.pid} belongs to another user`, ['Run this as the user who started it.'])
    if (code !== 'ESRCH') throw error
  }
}

async function isGone(server: RunningServer): Promise<boolean> {
  for (const end = systemClock.now() + STOP_TIMEOUT; systemClock.now() < end; ) {
    if (!isAlive(server)) return true
    await systemClock.sleep(INTERVAL)
  }
  return false
}
