/** What the rules of a running node must survive: strangers, the death of the proxy, the absence of the API server. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { rmSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { buildSync } from 'esbuild'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { addressOf, placementOf } from '../../src/service-proxy/packet-flow-objects.contract.ts'
import { asRoot } from '../linux/as-root.ts'
import { type FlowNetwork, startFlowNetwork } from './flow-network.ts'
import { openBackend, tableOf } from './flow-outcomes.ts'
import { KILLED_SCENARIOS } from './killed-proxy-scenarios.ts'
import { modeOf, type ProxyVariant, VARIANTS } from './proxy-variants.ts'
import { RunningProxies } from './running-proxy.ts'

const POLL = { timeout: 20_000, interval: 50 }
const DEATHS = 4
const LONGEST_LIFE_MS = 250

type KernelVariant = Exclude<ProxyVariant, 'userspace'>
const KERNEL: readonly KernelVariant[] = ['nftables', 'iptables-nft', 'iptables-legacy']

const flushLegacy = ['mangle', 'filter', 'nat'].flatMap((table) => [
  ['iptables-legacy', '-t', table, '-F'],
  ['iptables-legacy', '-t', table, '-X'],
])

/** What a stranger may do. Who changes a legacy table is not told of: that is looked for every few seconds. */
const DAMAGES: readonly (readonly [ProxyVariant, string, readonly (readonly string[])[]])[] = [
  ['nftables', 'everything flushed', [['nft', 'flush', 'ruleset']]],
  ['nftables', 'a chain flushed', [['nft', 'flush', 'chain', 'ip', 'sampan-services', 'services']]],
  ['iptables-nft', 'everything flushed', [['nft', 'flush', 'ruleset']]],
  ['iptables-nft', 'a chain flushed', [['iptables-nft', '-t', 'nat', '-F', 'KUBE-SERVICES']]],
  ['iptables-nft', 'a rule in front', [['iptables-nft', '-t', 'nat', '-I', 'KUBE-SERVICES', '-j', 'RETURN']]],
  ['iptables-nft', 'a jump taken away', [['iptables-nft', '-t', 'nat', '-F', 'PREROUTING']]],
  ['iptables-legacy', 'everything flushed', flushLegacy],
  ['iptables-legacy', 'a rule in front', [['iptables-legacy', '-t', 'nat', '-I', 'KUBE-SERVICES', '-j', 'RETURN']]],
  ['userspace', 'everything flushed', [['nft', 'flush', 'ruleset']]],
]

asRoot('faults', () => {
  let program = ''
  let network: FlowNetwork
  let running: RunningProxies

  beforeAll(async () => {
    network = await startFlowNetwork()
    const entry = fileURLToPath(new URL('killed-proxy.ts', import.meta.url))
    // Where modules that are not bundled are found.
    program = path.join(import.meta.dirname, '..', '..', 'node_modules', '.cache', `killed-proxy-${process.pid}.mjs`)
    const kind = { bundle: true, platform: 'node', format: 'esm', target: 'node20', packages: 'external' } as const
    buildSync({ entryPoints: [entry], outfile: program, ...kind })
  })
  afterAll(async () => {
    await network?.[Symbol.asyncDispose]()
    rmSync(program, { force: true })
  })
  beforeEach(async () => {
    running = await RunningProxies.start(network)
  })
  afterEach(() => running[Symbol.asyncDispose]())

  const inNode = (command: readonly string[]) =>
    execFileSync('nsenter', [`--net=/run/netns/${network.node.namespace.name}`, ...command], {
      stdio: ['ignore', 'ignore', 'pipe'],
    })

  test.each(DAMAGES)('%s: %s is noticed and repaired', async (variant, _, commands) => {
    const ip = await running.createService(['L1'])
    await running.startProxy(variant)
    expect(await running.ask(ip)).toBe('L1')
    for (const command of commands) inNode(command)
    // Whoever asked without rules is not led anywhere later: ask anew.
    await expect.poll(() => running.ask(ip, { patienceMs: 500 }), POLL).toBe('L1')
    // Another endpoint goes by changes only: they fit to what is there now.
    await running.setEndpoints(['R1'])
    await expect.poll(() => running.ask(ip), POLL).toBe('R1')
  })

  test.each(VARIANTS)(
    '%s: without the API server traffic goes on, and what was missed is caught up',
    async (variant) => {
      const ip = await running.createService(['L1'])
      const proxy = await running.startProxy(variant)
      const answers = await running.answersDuring(
        ip,
        running.withoutServer(() => running.ask(ip)),
      )
      expect(answers).toEqual(['L1'])
      await running.setEndpoints(['R1'])
      await expect.poll(() => running.ask(ip), POLL).toBe('R1')
      await proxy.settled()
    },
  )

  test.each(KERNEL)('%s: stopped and started again, no request fails', async (variant) => {
    const ip = await running.createService(['L1', 'R1'])
    const first = await running.startProxy(variant)
    await running.stopProxy(first)
    expect(await running.answersDuring(ip, running.startProxy(variant))).toEqual(['L1', 'R1'])
  })

  describe.each(KERNEL)('%s', (variant) => {
    test('killed at any moment: traffic goes on, and the next one adopts what is there', async () => {
      const ip = addressOf('C1', 'IPv4')
      const placement = placementOf('IPv4')
      const { mode, backends } = modeOf(variant)
      const last = openBackend(network.nodes[0]!, backends[mode]!, KILLED_SCENARIOS[0]!, placement)
      const children: ChildProcess[] = []
      try {
        await last.apply(tableOf(KILLED_SCENARIOS[0]!, placement), 'all')
        const live = async () => {
          for (let i = 1; i <= DEATHS; i++) {
            const child = await startKilled(children, variant)
            await new Promise((resolve) => setTimeout(resolve, (LONGEST_LIFE_MS * i) / DEATHS))
            child.kill('SIGKILL')
          }
        }
        const answers = await running.answersDuring(ip, live())
        expect(answers.filter((answer) => !/^[LR][12]$/.test(answer))).toEqual([])
        await last.apply(tableOf(KILLED_SCENARIOS[2]!, placement), 'all')
        expect(await running.answersDuring(ip, Promise.resolve())).toEqual(['R1'])
      } finally {
        for (const child of children) child.kill('SIGKILL')
        await last.cleanup()
        await last[Symbol.asyncDispose]()
      }
    })
  })

  async function startKilled(children: ChildProcess[], variant: ProxyVariant): Promise<ChildProcess> {
    const args = [program, variant, network.node.namespace.name]
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'], cwd: process.cwd() })
    children.push(child)
    await new Promise<void>((resolve, reject) => {
      child.stdout!.once('data', () => resolve())
      child.once('exit', (code) => reject(new Error(`the proxy ended by ${code}`)))
    })
    return child
  }
})
