/**
 * A node's process and the API server die a hundred times, at moments that a seed chooses, while pods come and go. Those
 * that run keep running, nothing runs twice, all comes to its right end, and then nothing is left.
 */
import { createHash } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Pod } from '../../src/api/generated/core-v1.ts'
import { findOwner, isAlive, type ProcessRecord } from '../../src/base/process-claim.ts'
import { processStartTime } from '../../src/base/process-identity.ts'
import { seededRandom } from '../../src/base/random.ts'
import { asRoot } from '../linux/as-root.ts'
import { cgroupsOf, mountsBelow, processesWith } from '../tools/leftovers.ts'
import { eventually, Machine } from '../tools/machine.ts'
import { KillScenario, STEADY } from './kill-scenario.ts'

const KILLS = 100
const KILLS_PER_WAVE = 10
const SEED = Number(process.env.SAMPAN_SEED ?? 5)
/** The longest time between two kills: a start of a node takes about half of it. */
const LONGEST_PAUSE = 900
const TIME_LIMIT = 900_000
const START_PATIENCE = 120

asRoot(`${KILLS} kills of a node and its API server`, () => {
  let machine: Machine
  let marks: string
  let scenario: KillScenario
  const random = seededRandom(SEED)
  /** What runs in each steady container, by the container's id. */
  let steady = new Map<string, ProcessRecord>()

  beforeAll(async () => {
    machine = new Machine()
    marks = path.join(machine.folder, 'marks')
    machine.env.TMPDIR = path.join(machine.folder, 'tmp')
    mkdirSync(machine.env.TMPDIR)
    mkdirSync(marks)
    scenario = new KillScenario(marks)
    await machine.up()
    await machine.apply(...scenario.steady())
    await eventually(pods, (all) => all.length === STEADY.pods && all.every(isReady), 60)
    steady = new Map((await pods()).flatMap(containerProcesses))
    expect(steady.size).toBe(STEADY.containers)
  })
  afterAll(() => machine?.[Symbol.asyncDispose]())

  const nodeDir = () => path.join(machine.dataDir, 'nodes', 'node-1')
  const node = () => findOwner(path.join(nodeDir(), 'node.json'))
  const server = () => findOwner(path.join(machine.dataDir, 'server.json'))
  const kubectl = (...args: string[]) => machine.kubectl(...args)
  const pods = async () => (JSON.parse(await kubectl('get', 'pods', '-o', 'json')) as { items: Pod[] }).items
  const marksOf = (pod: string) => readFileSync(path.join(marks, pod), 'utf8').trim().split('\n')

  /** The id of each running container, and the process that the runtime started for it. */
  function containerProcesses(pod: Pod): [string, ProcessRecord][] {
    const { initContainerStatuses = [], containerStatuses = [] } = pod.status ?? {}
    const running = [...initContainerStatuses, ...containerStatuses].filter(({ state }) => state?.running)
    return running.map(({ containerID = '' }) => {
      const id = containerID.split('//')[1]!
      const file = path.join(nodeDir(), 'containers', 'containers', id, 'started.json')
      const { pid } = JSON.parse(readFileSync(file, 'utf8')) as { pid: number }
      return [id, { pid, startTime: processStartTime(pid) ?? '' }]
    })
  }

  const expectSteadyRuns = () =>
    expect([...steady].filter(([, process]) => !isAlive(process)).map(([id]) => id)).toEqual([])

  /** Returns when it is gone: a busy machine takes its time, and nobody is to be killed twice. */
  async function killed(owner: ProcessRecord): Promise<number> {
    process.kill(owner.pid, 'SIGKILL')
    await eventually(
      async () => isAlive(owner),
      (alive) => !alive,
    )
    return 1
  }

  /** While it starts, or while it is at work. */
  async function killNode(): Promise<number> {
    const isUp = (pid: number) => readFileSync(path.join(nodeDir(), 'node.log'), 'utf8').includes(`pid=${pid}\n`)
    const mayStart = random.next() < 0.6
    const found = await eventually(node, (one) => one !== undefined && (mayStart || isUp(one.pid)), START_PATIENCE)
    if (!mayStart) await sleep(random.next() * LONGEST_PAUSE)
    return killed(found!)
  }

  /** Also while it starts: then the one who waits for it is told, and tries again. */
  async function killServer(): Promise<number> {
    const running = await server()
    let kills = running ? await killed(running) : 0
    if (random.next() < 0.3) {
      const start = machine.up().catch(() => undefined)
      await sleep(random.next() * LONGEST_PAUSE)
      const next = await server()
      if (next) kills += await killed(next)
      await start
    }
    await machine.up()
    return kills
  }

  async function killSomething(): Promise<number> {
    await sleep((random.next() * LONGEST_PAUSE) / 2)
    const choice = random.next()
    if (choice < 0.75) return killNode()
    if (choice < 0.9) return killServer()
    return (await killNode()) + (await killServer())
  }

  test(
    `seed ${SEED}`,
    async () => {
      let wave = 0
      for (let kills = 0; kills < KILLS; ) {
        if (kills >= wave * KILLS_PER_WAVE) {
          wave++
          if (wave > 1) await kubectl('delete', 'pod', `goes-${wave - 1}`, '--wait=false')
          await machine.apply(...scenario.wave(wave))
        }
        kills += await killSomething()
        expectSteadyRuns()
      }
      await expectRightEnd(wave)
    },
    TIME_LIMIT,
  )

  /** Everything came to what an undisturbed node would have made of it. */
  async function expectRightEnd(waves: number): Promise<void> {
    const isOver = (pod: Pod) => ['Succeeded', 'Failed'].includes(pod.status?.phase ?? '')
    // Whoever has an end is ready too while it runs: of a Job the last pod may only just have come.
    const isAsItStays = (pod: Pod) => (/^(steady|goes)-/.test(pod.metadata.name!) ? isReady(pod) : isOver(pod))
    const all = await eventually(
      pods,
      (found) => found.every(isAsItStays) && found.length === STEADY.pods + waves * 5 + 1,
      90,
    ).catch(async () => {
      throw new Error(`${await kubectl('get', 'pods,events')}\n${machine.logs()}`)
    })
    const ends = Object.fromEntries(all.map((pod) => [pod.metadata.name, pod.status?.phase]))
    for (let wave = 1; wave <= waves; wave++) {
      expect(ends).toMatchObject({ [`once-${wave}`]: 'Succeeded', [`fails-${wave}`]: 'Failed' })
      expect(ends).toMatchObject({ [`again-${wave}`]: 'Succeeded' })
      expect([`once-${wave}`, `fails-${wave}`].flatMap(marksOf)).toEqual(['main', 'main'])
      expect(marksOf(`again-${wave}`)).toEqual(['main', 'main'])
    }
    for (const pod of all.filter((one) => one.metadata.name?.startsWith('job-'))) {
      expect(pod.status?.phase).toBe('Succeeded')
      expect(marksOf(pod.metadata.name!)).toEqual(['main'])
    }
    const stayed = all.filter((one) => one.metadata.name?.startsWith('steady-'))
    expect(new Map(stayed.flatMap(containerProcesses))).toEqual(steady)
    expect(stayed.flatMap((pod) => pod.status?.containerStatuses ?? []).map((one) => one.restartCount)).toEqual(
      stayed.map(() => 0),
    )
    const addresses = stayed.map((pod) => pod.status?.podIP)
    expect(new Set(addresses).size).toBe(stayed.length)
  }

  test('with the pods all that was theirs goes', async () => {
    await kubectl('delete', 'jobs,deployments,pods', '--all', '--wait=false')
    await eventually(pods, (all) => all.length === 0, 60)
    const left = (folder: string) => readdirSync(path.join(nodeDir(), folder))
    await eventually(
      async () => ['containers/sandboxes', 'containers/containers', 'kubelet/pods', 'kubelet/log/pods'].flatMap(left),
      (all) => all.length === 0,
    )
    // Trees of the host image stay for as long as the node runs.
    expect(mountsBelow(nodeDir()).filter((mount) => !mount.includes('/host-trees/'))).toEqual([])
    await eventually(
      async () => cgroupsOf(nodeDir()).filter((folder) => /\/pod[^/]*$/.test(folder)),
      (all) => all.length === 0,
    )
    for (const { pid } of steady.values()) expect(processStartTime(pid)).toBeUndefined()
    const links = await machine.onNode('node-1', 'ip', '-o', 'link')
    expect(links.match(/veth\w*/g)).toBeNull()
  })

  test('down leaves nothing', async () => {
    await machine.down()
    const id = createHash('sha256').update(machine.dataDir).digest('hex').slice(0, 8)
    expect(machine.linux.namespaces.list().filter((name) => name.includes(id))).toEqual([])
    expect(mountsBelow(machine.folder)).toEqual([])
    expect(processesWith(machine.folder)).toEqual([])
    expect(cgroupsOf(nodeDir())).toEqual([])
    expect(readdirSync(machine.env.TMPDIR!)).toEqual([])
    using network = machine.linux.openRtnetlink(machine.namespace)
    expect(network.links().map(({ name }) => name)).toEqual(['lo'])
  })
})

const isReady = ({ status }: Pod) =>
  status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') === true
