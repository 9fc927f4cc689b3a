/** What a node shows the control plane beside it, when that starts again. */
import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { asRoot } from '../linux/as-root.ts'
import { eventually } from '../tools/machine.ts'
import { ConformanceNode, isReady, pod, sh } from './conformance-node.ts'

asRoot('the credentials of a node', () => {
  let node: ConformanceNode
  beforeAll(async () => {
    node = await ConformanceNode.up()
    await node.apply(pod('web', sh('sleep 1000')))
    await node.until('web', isReady, 120)
  }, 240_000)
  afterAll(() => node?.[Symbol.asyncDispose](), 240_000)

  const kubeconfig = () => `${node.machine.dataDir}/nodes/node-1/pki/kubelet.kubeconfig`
  const written = () => statSync(kubeconfig()).mtimeMs
  const pidIn = (file: string) => JSON.parse(readFileSync(`${node.machine.dataDir}/${file}`, 'utf8')).pid as number
  const nodePid = () => pidIn('nodes/node-1/node.json')

  /** The control plane dies, and another one takes over. */
  async function restart(): Promise<void> {
    const pid = pidIn('server.json')
    process.kill(pid, 'SIGKILL')
    await eventually(
      async () => isAlive(pid),
      (alive) => !alive,
    )
    await node.machine.up()
  }
  const isAlive = (pid: number) => {
    try {
      return process.kill(pid, 0)
    } catch {
      return false
    }
  }

  test('are kept while they are good, and so is its process', async () => {
    const before = { written: written(), pid: nodePid() }
    await restart()
    expect({ written: written(), pid: nodePid() }).toEqual(before)
  }, 120_000)

  test('are made anew when they are not, and read by another process, while pods go on', async () => {
    const before = { written: written(), pid: nodePid() }
    const started = (await node.pod('web')).status?.containerStatuses?.[0]?.containerID
    writeFileSync(kubeconfig(), readFileSync(kubeconfig(), 'utf8').replace(/client-certificate-data: .*/, ''))
    await restart()
    expect(written()).not.toBe(before.written)
    await eventually(
      async () => nodePid(),
      (pid) => pid !== before.pid,
      60,
    )
    const { status } = await node.until('web', isReady)
    expect(status?.containerStatuses?.[0]?.containerID).toBe(started)
    await eventually(
      () => node.exec('web', 'echo', 'here').catch(() => ''),
      (text) => text.includes('here'),
      60,
    )
  }, 180_000)
})
