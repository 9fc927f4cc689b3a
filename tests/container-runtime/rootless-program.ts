/** Run by a plain user: enters a user namespace, runs containers there, tells what they said as JSON. */
import { mkdirSync } from 'node:fs'
import path from 'node:path'
import { systemClock } from '../../src/base/clock.ts'
import { silentLogger } from '../../src/base/log.ts'
import { startBuiltinRuntime } from '../../src/container-runtime/builtin-runtime.ts'
import {
  type ContainerChanges,
  containerConfig,
  sandboxConfig,
} from '../../src/container-runtime/pod-configs.contract.ts'
import { delegatedCgroup } from '../../src/linux/cgroups.ts'
import { spawnInUserNamespace } from '../../src/linux/user-namespace.ts'
import { BUSYBOX_IMAGE, folderImages, makeBusyboxRoot } from './busybox-image.ts'

const [, program = '', folder = '', inside] = process.argv
const namespaces = { network: 'NODE', pid: 'CONTAINER', ipc: 'POD' } as const

async function outer(): Promise<void> {
  try {
    const child = await spawnInUserNamespace(process.execPath, [program, folder, 'inside'], { PATH: '/usr/bin:/bin' })
    process.exitCode = await new Promise<number>((resolve) => child.on('exit', (code) => resolve(code ?? 1)))
  } catch (error) {
    process.stdout.write(JSON.stringify({ error: (error as Error).message }))
  }
}

async function inner(): Promise<void> {
  const delegated = delegatedCgroup()
  const root = path.join(folder, 'busybox')
  mkdirSync(root)
  makeBusyboxRoot(root)
  const refuse = async () => {
    throw new Error('these pods use the network of the node')
  }
  const runtime = await startBuiltinRuntime({
    stateDir: path.join(folder, 'state'),
    images: folderImages({ [BUSYBOX_IMAGE]: [root] }),
    network: { attach: refuse, detach: async () => {} },
    clock: systemClock,
    log: silentLogger,
    rootless: true,
    ...(delegated !== undefined && { cgroupRoot: `${delegated}/sampan-rootless` }),
  })
  const image = { imageId: BUSYBOX_IMAGE, image: BUSYBOX_IMAGE }
  const start = async (changes: ContainerChanges, command: readonly string[] = ['sleep', '1000']) => {
    const sandbox = sandboxConfig(path.join(folder, 'logs'), { namespaces })
    const sandboxId = await runtime.runPodSandbox(sandbox)
    const security = { namespaces, ...changes.security }
    const config = containerConfig(image, command, { ...changes, security })
    const id = await runtime.createContainer(sandboxId, config, sandbox)
    await runtime.startContainer(id)
    return { id, sandboxId }
  }
  const exec = async (id: string, script: string, tty = false) => {
    const session = await runtime.exec(id, { command: ['sh', '-c', script], stdout: true, stdin: tty, tty })
    const chunks: Buffer[] = []
    session.stdout!.on('data', (chunk: Buffer) => chunks.push(chunk))
    const code = await session.exited
    return { code, output: Buffer.concat(chunks).toString() }
  }
  const asRoot = await start({})
  const asUser = await start({ security: { namespaces, runAsUser: 33, runAsGroup: 44 } })
  const told = {
    uid: process.getuid?.(),
    root: await exec(asRoot.id, 'id -u; touch /new && echo written; rm /bin/wget && echo removed; exit 3'),
    user: await exec(asUser.id, 'id -u; id -g; grep CapEff /proc/self/status; touch /x 2>/dev/null || echo refused'),
    terminal: await exec(asRoot.id, 'tty', true),
  }
  const hog = await start({ resources: { memoryLimitBytes: 32 << 20 } }, [
    'dd',
    'if=/dev/zero',
    'of=/dev/null',
    'bs=200M',
    'count=1',
  ])
  while ((await runtime.containerStatus(hog.id)).state === 'RUNNING') await systemClock.sleep(20)
  const { reason, unenforcedLimits } = await runtime.containerStatus(hog.id)
  const limits = { isDelegated: delegated !== undefined, reason, unenforcedLimits }
  await runtime.stopContainer(asRoot.id, 0)
  const { exitCode } = await runtime.containerStatus(asRoot.id)
  for (const { sandboxId } of [asRoot, asUser, hog]) await runtime.removePodSandbox(sandboxId)
  await runtime[Symbol.asyncDispose]()
  process.stdout.write(JSON.stringify({ ...told, exitCode, limits }))
}

await (inside ? inner() : outer())
