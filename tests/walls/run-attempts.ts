/** Makes the attempts that are pods, all at once, and gathers what became of each. */
import type { Container, ContainerStatus, Pod, PodSpec } from '../../src/api/generated/core-v1.ts'
import { eventually } from '../tools/machine.ts'
import { type Attempt, type ContainerAttempt, isContainer, isScript, type ScriptAttempt } from './attempt.ts'
import type { Goal } from './canaries.ts'
import { CELL_OBJECTS, CELLS, type CellName, envOf, literal, shell } from './cells.ts'
import type { Environment } from './environments.ts'
import { BASE_IMAGE, hostileName, loadImages } from './images.ts'

const CONTAINERS_PER_POD = 12
const ROW_SECONDS = 20
/** All scripts of a cell, each with its number before its output. */
const RUN_ALL = `while [ $# -gt 0 ]; do
  echo "@begin $1"
  timeout -s KILL ${ROW_SECONDS} sh -c "$2" </dev/null 2>&1
  echo "@end $1"
  shift 2
done`

const hasEnded = (status: ContainerStatus | undefined) => status?.state?.terminated !== undefined
/** Reasons for which a container waits that will not go away. */
const REFUSED = /Error|BackOff|ErrImage|InvalidImage/

/** The text of each row. */
export async function runAttempts(environment: Environment, rows: readonly Attempt[]): Promise<Map<Attempt, string>> {
  const goal: Goal = environment.canaries
  const containers = rows.filter(isContainer)
  const images = new Map(
    containers.flatMap((row, i) => (row.image ? [[hostileName(i), row.image(goal)] as const] : [])),
  )
  const notLoaded = await loadImages(environment, images)
  const inPods = containers.flatMap((row, i) => (notLoaded.has(hostileName(i)) ? [] : [{ row, i }]))
  const scripts = cellsOf(environment, rows.filter(isScript))
  const pods = [...cellPods(goal, scripts), ...containerPods(goal, inPods)]
  await environment.apply(...CELL_OBJECTS, ...pods)
  const names = pods.map(({ metadata }) => metadata.name)
  const ended = await settled(environment, names)
  const texts = new Map<Attempt, string>()
  for (const [i, row] of containers.entries()) {
    const refusal = notLoaded.get(hostileName(i))
    texts.set(row, refusal === undefined ? containerText(environment, row, i, ended) : `held at load: ${refusal}`)
  }
  for (const [cell, list] of scripts) {
    const log = environment.log(`cell-${cell}`)
    for (const [i, row] of list.entries()) {
      const text = sectionOf(log, i) ?? `no output: ${JSON.stringify(ended.get(`cell-${cell}`)?.status)}`
      texts.set(cell === 'privileged' ? controlOf(row) : row, text)
    }
  }
  return texts
}

const controls = new WeakMap<ScriptAttempt, Attempt>()

/** The same script in a privileged pod, where it must tell of an escape. */
export function controlOf(row: ScriptAttempt): Attempt {
  const control = controls.get(row) ?? { ...row }
  controls.set(row, control)
  return control
}

function cellsOf(environment: Environment, rows: readonly ScriptAttempt[]): Map<CellName, ScriptAttempt[]> {
  const cells = new Map<CellName, ScriptAttempt[]>()
  for (const row of rows) cells.set(row.cell ?? 'default', [...(cells.get(row.cell ?? 'default') ?? []), row])
  const proven = rows.filter(({ worksPrivileged }) => worksPrivileged)
  if (environment.name === 'builtin' && proven.length > 0) cells.set('privileged', proven)
  return cells
}

const pod = (name: string, spec: PodSpec) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name },
  spec: { restartPolicy: 'Never', terminationGracePeriodSeconds: 0, ...spec },
})

function cellPods(goal: Goal, cells: ReadonlyMap<CellName, readonly ScriptAttempt[]>) {
  return [...cells].map(([name, rows]) => {
    const { container, spec, others = [] } = CELLS[name]
    const args = rows.flatMap(({ script }, i) => [String(i), script])
    const main: Container = {
      name: 'main',
      image: BASE_IMAGE,
      command: ['sh', '-c', ...[RUN_ALL, 'sh', ...args].map(literal)],
      env: envOf(goal),
      ...container,
    }
    return pod(`cell-${name}`, { ...spec, containers: [main, ...others] })
  })
}

const sectionOf = (log: string, i: number) =>
  new RegExp(`^@begin ${i}\\n([^]*?)^@end ${i}$`, 'm').exec(log)?.[1] ?? undefined

interface Placed {
  readonly row: ContainerAttempt
  readonly i: number
}

const podOf = (i: number, row: ContainerAttempt) =>
  row.spec ? `alone-${i}` : `shared-${Math.floor(i / CONTAINERS_PER_POD)}`
const nameOf = (i: number) => `row-${i}`
const volumeName = (i: number, name: string) => `${nameOf(i)}-${name}`

function containerPods(goal: Goal, placed: readonly Placed[]) {
  const byPod = new Map<string, Placed[]>()
  for (const one of placed) {
    const name = podOf(one.i, one.row)
    byPod.set(name, [...(byPod.get(name) ?? []), one])
  }
  return [...byPod].map(([name, rows]) => {
    const volumes = rows.flatMap(({ row, i }) =>
      Object.entries(row.volumes ?? {}).map(([volume, source]) => ({
        ...(source.image ? { image: { reference: hostileName(i) } } : (source as object)),
        name: volumeName(i, volume),
      })),
    )
    return pod(name, {
      initContainers: preparations(goal, rows),
      containers: rows.map(({ row, i }) => containerOf(goal, row, i)),
      volumes,
      ...rows[0]!.row.spec,
    })
  })
}

function containerOf(goal: Goal, row: ContainerAttempt, i: number): Container {
  const { env = [], volumeMounts = [], ...rest } = row.container(goal)
  return {
    name: nameOf(i),
    image: row.image ? hostileName(i) : BASE_IMAGE,
    command: ['sh', '-c', 'echo held'],
    ...rest,
    env: [...envOf(goal), ...env],
    volumeMounts: volumeMounts.map((mount) => ({ ...mount, name: volumeName(i, mount.name) })),
  }
}

/** One container for all rows of the pod; each volume is at $V-NAME of its row. */
function preparations(goal: Goal, rows: readonly Placed[]): Container[] {
  const prepared = rows.filter(({ row }) => row.prepare !== undefined)
  if (prepared.length === 0) return []
  const script = prepared.map(({ row, i }) => `(V=/prepare/${nameOf(i)}; ${row.prepare})`).join('\n')
  const volumeMounts = prepared.flatMap(({ row, i }) =>
    Object.keys(row.volumes ?? {}).map((volume) => ({
      name: volumeName(i, volume),
      mountPath: `/prepare/${volumeName(i, volume)}`,
    })),
  )
  return [{ name: 'prepare', image: BASE_IMAGE, command: shell(script), env: envOf(goal), volumeMounts }]
}

/** Waits until every pod has run its rows or was refused them. */
async function settled(environment: Environment, names: readonly string[]): Promise<Map<string, Pod>> {
  const isSettled = (one: Pod | undefined) => {
    const { phase, containerStatuses = [] } = one?.status ?? {}
    if (phase === 'Succeeded' || phase === 'Failed') return true
    const mains = containerStatuses.filter(({ name }) => name === 'main' || name.startsWith('row-'))
    return mains.length > 0 && mains.every((status) => hasEnded(status) || isRefused(status))
  }
  const look = () => environment.pods()
  const unsettled = (pods: Map<string, Pod>) => names.filter((name) => !isSettled(pods.get(name)))
  try {
    return await eventually(look, (pods) => unsettled(pods).length === 0, 75)
  } catch {
    // Each row says what it is missing.
    return look()
  }
}

const isRefused = ({ state }: ContainerStatus) =>
  state?.waiting !== undefined && REFUSED.test(state.waiting.reason ?? '')

/** What it wrote, then how it ended; a refusal is one of the good ends unless the row says otherwise. */
function containerText(
  environment: Environment,
  row: ContainerAttempt,
  i: number,
  pods: ReadonlyMap<string, Pod>,
): string {
  const name = podOf(i, row)
  const status = pods.get(name)?.status?.containerStatuses?.find((one) => one.name === nameOf(i))
  const { waiting, terminated } = status?.state ?? {}
  const log = environment.log(name, nameOf(i))
  const end = JSON.stringify(status?.state ?? pods.get(name)?.status ?? 'no pod')
  if (terminated?.reason === 'OOMKilled' || pods.get(name)?.status?.reason === 'Evicted') return `${log}\nheld ${end}`
  if (terminated?.startedAt && terminated.reason !== 'StartError' && terminated.reason !== 'ContainerCannotRun')
    return `${log}\n${{ refused: 'ESCAPED it ran: ', anyhow: 'held ', ran: '' }[row.ends ?? 'ran']}${end}`
  if (!waiting && !terminated) return `${log}\n${end}`
  if (waiting && !REFUSED.test(waiting.reason ?? '')) return `${log}\n${end}`
  return row.ends === 'ran' ? `${log}\nit was refused: ${end}` : `${log}\nheld refused: ${end}`
}
