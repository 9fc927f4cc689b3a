/** What a node gives to pods that ask for nothing, and what the flags of `sampan up` change about it. */
import { existsSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import type { Container, PodSpec } from '../../src/api/generated/core-v1.ts'
import { nodeCgroupRoot } from '../../src/cluster/node/node-settings.ts'
import { missingPrograms } from '../../src/container-runtime/containerd-programs.ts'
import { asRoot } from '../linux/as-root.ts'
import { ConformanceNode, pod, sh } from '../nodes/conformance-node.ts'

const UNCONFINED = { seccompProfile: { type: 'Unconfined' } }
const DEFAULT = { seccompProfile: { type: 'RuntimeDefault' } }
/** 0 stands for no filter, 2 for one. */
const PODS: readonly [string, Partial<Container>, Partial<PodSpec>, number][] = [
  ['asks-for-nothing', {}, {}, 2],
  ['unconfined', { securityContext: UNCONFINED }, {}, 0],
  ['unconfined-by-its-pod', {}, { securityContext: UNCONFINED }, 0],
  ['privileged', { securityContext: { privileged: true } }, {}, 0],
  ['confined', { securityContext: DEFAULT }, {}, 2],
]

async function filters(node: ConformanceNode): Promise<(readonly [string, number])[]> {
  const script = "sed -n 's/^Seccomp:\\t//p' /proc/self/status"
  await node.apply(...PODS.map(([name, container, spec]) => pod(name, sh(script, container), spec)))
  await node.ended(PODS.map(([name]) => name))
  return PODS.map(([name]) => [name, Number(node.log(name))] as const)
}

async function processLimit(node: ConformanceNode): Promise<string> {
  await node.apply(pod('runs', sh('sleep 1000')))
  const running = await node.until('runs', ({ status }) => status?.phase === 'Running')
  const group = `${nodeCgroupRoot(`${node.machine.dataDir}/nodes/node-1`)}/kubepods/besteffort/pod${running.metadata.uid}`
  const file = ['/sys/fs/cgroup/pids', '/sys/fs/cgroup'].map((root) => `${root}${group}/pids.max`).find(existsSync)
  return readFileSync(file!, 'utf8').trim()
}

asRoot('a node', () => {
  const runtimes = ['builtin', ...(missingPrograms().length === 0 ? ['containerd'] : [])]

  test.each(runtimes)('of runtime %s filters system calls and limits processes by default', async (runtime) => {
    await using node = await ConformanceNode.up('--runtime', runtime)
    expect(await filters(node)).toEqual(PODS.map(([name, , , mode]) => [name, mode]))
    expect(await processLimit(node)).toBe('4096')
  })

  test('does as its flags say', async () => {
    await using node = await ConformanceNode.up('--seccomp-default=false', '--pod-max-pids', '128')
    expect(await filters(node)).toEqual(PODS.map(([name]) => [name, name === 'confined' ? 2 : 0]))
    expect(await processLimit(node)).toBe('128')
  })
})
