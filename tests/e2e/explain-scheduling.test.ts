import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startCluster, type TestCluster } from '../../src/testing/index.ts'
import { runProgram } from '../tools/cluster.ts'

/** `sampan explain-scheduling` against a cluster of three nodes, over HTTP as users have it. */

const CLI = process.env.SAMPAN_CLI ?? path.resolve(import.meta.dirname, '..', '..', 'dist', 'bin', 'sampan.js')
const folder = mkdtempSync(path.join(tmpdir(), 'sampan-explain-'))

const NODES = [
  { name: 'big', capacity: { cpu: '64' } },
  { name: 'small' },
  { name: 'reserved', taints: [{ key: 'team', value: 'a', effect: 'NoSchedule' }] },
]

const pod = (name: string, cpu: string) => `
apiVersion: v1
kind: Pod
metadata: { name: ${name} }
spec:
  containers: [{ name: app, image: app, resources: { requests: { cpu: "${cpu}" } } }]
`

describe('explain-scheduling', () => {
  let cluster: TestCluster
  const explain = async (...args: string[]) => {
    const kubeconfig = path.join(folder, 'kubeconfig')
    const env = { ...process.env, HOME: folder }
    return runProgram(process.execPath, [CLI, 'explain-scheduling', '--kubeconfig', kubeconfig, ...args], env)
  }
  const words = (text: string) => text.split('\n').map((line) => line.trim().split(/\s{2,}/))

  beforeAll(async () => {
    cluster = await startCluster({ nodes: NODES })
    writeFileSync(path.join(folder, 'kubeconfig'), await cluster.kubeconfig)
    await cluster.apply([pod('placed', '1'), pod('greedy', '32'), pod('hopeless', '500')].join('---'))
    await cluster.settled()
  })
  afterAll(async () => {
    await cluster?.dispose()
    rmSync(folder, { recursive: true, force: true })
  })

  test('a placed pod: where it is, how the nodes score, and which will not do', async () => {
    const { code, stdout } = await explain('placed')
    expect(code).toBe(0)
    const lines = words(stdout)
    expect(lines[0]![0]).toMatch(/^The pod is on (big|small)\.$/)
    const header = lines.find(([first]) => first === 'NODE')!
    expect(header).toEqual(expect.arrayContaining(['TOTAL', 'NodeResourcesFit', 'NodeResourcesBalancedAllocation']))
    expect(lines.filter(([node]) => node === 'big' || node === 'small')).toHaveLength(2)
    expect(lines.find(([node]) => node === 'reserved')).toEqual([
      'reserved',
      'TaintToleration',
      expect.stringContaining('untolerated taint'),
    ])
  })

  test('a pod that fits on one node only', async () => {
    const { stdout } = await explain('pod/greedy', '-o', 'json')
    const { scored, rejected } = JSON.parse(stdout) as {
      scored: { node: string }[]
      rejected: { node: string; plugin: string; reasons: string[] }[]
    }
    expect(scored.map(({ node }) => node)).toEqual(['big'])
    expect(rejected.find(({ node }) => node === 'small')).toEqual({
      node: 'small',
      plugin: 'NodeResourcesFit',
      reasons: ['Insufficient cpu'],
    })
  })

  test('a pending pod: the words of its event, and each node with its reason', async () => {
    const { stdout } = await explain('hopeless')
    expect(stdout).toContain('0/3 nodes are available: ')
    expect(stdout).toContain('2 Insufficient cpu')
    expect(words(stdout).filter(([, plugin]) => plugin === 'NodeResourcesFit')).toHaveLength(2)
  })

  test('the same question gets the same answer', async () => {
    const [first, second] = [await explain('placed', '-o', 'json'), await explain('placed', '-o', 'json')]
    expect(first.code).toBe(0)
    expect(first.stdout).toBe(second.stdout)
  })

  test('a pod that does not exist', async () => {
    const { code, stderr } = await explain('nobody')
    expect(code).not.toBe(0)
    expect(stderr).toContain('pods "nobody" not found')
  })
})
