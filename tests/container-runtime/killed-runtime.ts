/** Starts containers as its one argument says, tells their ids, and goes on until it is killed. */
import { writeSync } from 'node:fs'
import { systemClock } from '../../src/base/clock.ts'
import { silentLogger } from '../../src/base/log.ts'
import { startBuiltinRuntime } from '../../src/container-runtime/builtin-runtime.ts'
import { containerConfig, sandboxConfig } from '../../src/container-runtime/pod-configs.contract.ts'
import { BUSYBOX_IMAGE, folderImages } from './busybox-image.ts'

export interface Orders {
  readonly stateDir: string
  readonly cgroupRoot: string
  readonly root: string
  readonly logDirectory: string
  readonly scripts: readonly string[]
}

const orders = JSON.parse(process.argv[2] ?? '{}') as Orders
const namespaces = { network: 'NODE', pid: 'CONTAINER', ipc: 'POD' } as const
const refuse = async () => {
  throw new Error('these pods use the network of the node')
}

const runtime = await startBuiltinRuntime({
  stateDir: orders.stateDir,
  cgroupRoot: orders.cgroupRoot,
  images: folderImages({ [BUSYBOX_IMAGE]: [orders.root] }),
  network: { attach: refuse, detach: async () => {} },
  clock: systemClock,
  log: silentLogger,
})
writeSync(1, 'ready\n')
for (const script of orders.scripts) {
  const sandbox = sandboxConfig(orders.logDirectory, { namespaces })
  const sandboxId = await runtime.runPodSandbox(sandbox)
  const image = { imageId: BUSYBOX_IMAGE, image: BUSYBOX_IMAGE }
  const config = containerConfig(image, ['sh', '-c', script], { security: { namespaces } })
  const id = await runtime.createContainer(sandboxId, config, sandbox)
  await runtime.startContainer(id)
  writeSync(1, `${id}\n`)
}
await new Promise(() => systemClock.after(600_000, () => {}))
