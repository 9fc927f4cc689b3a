import { readFileSync } from 'node:fs'
import { type Profiler, Session } from 'node:inspector/promises'
import { fileURLToPath } from 'node:url'

/** Where the CPU of a run went, in percent by stage, the greatest first. */
export type StageShares = readonly (readonly [stage: string, percent: number])[]

const SAMPLE_EVERY = 500
/** Where samples are further apart, the processor was somebody else's. */
const LONGEST = 10_000

/** The innermost frame that is named here says what a sample was spent on. */
const STAGES: readonly (readonly [prefix: string, stage: string])[] = [
  ['src/scheduler/preemption/', 'preemption'],
  ['src/scheduler/feed/', 'scheduler cache'],
  ['src/scheduler/cache/', 'scheduler cache'],
  ['src/scheduler/queue/', 'scheduler queue'],
  ['src/scheduler/', 'scheduler decision'],
  ['src/client/event', 'event recorder'],
  ['src/client/', 'client and informers'],
  ['src/apiserver/registry/action/bind.ts', 'API bind'],
  ['src/apiserver/registry/create.ts', 'API create'],
  ['src/apiserver/registry/patch.ts', 'API patch'],
  ['src/apiserver/registry/update.ts', 'API patch'],
  ['src/apiserver/registry/delete.ts', 'API delete'],
  ['src/apiserver/watch-cache/', 'watch cache'],
  ['src/apiserver/registry/watch.ts', 'watch cache'],
  ['src/store/', 'store'],
  ['bench/', 'bench'],
]
/** What serves all requests counts for the one that called it, where that can be seen. */
const SERVER = 'src/apiserver/'
const SERVER_STAGE = 'API server, after a wait'

type Around = (work: () => Promise<void>) => Promise<void>

/** Runs something and profiles the part of it that it puts into `around`. All of it runs in one thread. */
export async function stageShares(run: (around: Around) => Promise<unknown>): Promise<StageShares> {
  const session = new Session()
  session.connect()
  await session.post('Profiler.enable')
  await session.post('Profiler.setSamplingInterval', { interval: SAMPLE_EVERY })
  let shares: StageShares = []
  try {
    await run(async (work) => {
      await session.post('Profiler.start')
      await work()
      shares = sharesOf((await session.post('Profiler.stop')).profile)
    })
    return shares
  } finally {
    session.disconnect()
  }
}

export const formatShares = (shares: StageShares): string =>
  shares
    .filter(([, percent]) => percent >= 1)
    .map(([stage, percent]) => `${stage} ${percent.toFixed(0)} %`)
    .join(', ')

function sharesOf({ nodes, samples = [], timeDeltas = [] }: Profiler.Profile): StageShares {
  const stages = stagesOf(nodes)
  const spent = new Map<string, number>()
  let total = 0
  samples.forEach((id, i) => {
    const stage = stages.get(id)
    if (!stage) return
    const time = Math.min(LONGEST, Math.max(0, timeDeltas[i] ?? 0))
    spent.set(stage, (spent.get(stage) ?? 0) + time)
    total += time
  })
  return [...spent].map(([stage, time]) => [stage, (100 * time) / total] as const).sort((a, b) => b[1] - a[1])
}

/** The stage of each node of the call tree; none for time in which nothing was done. */
function stagesOf(nodes: readonly Profiler.ProfileNode[]): Map<number, string | undefined> {
  const modules = new ModuleTable()
  const byId = new Map(nodes.map((node) => [node.id, node]))
  const stages = new Map<number, string | undefined>()
  const visit = (node: Profiler.ProfileNode, above: string) => {
    const { functionName } = node.callFrame
    const own = modules.stageOf(node.callFrame, above)
    if (functionName === '(idle)') stages.set(node.id, undefined)
    else stages.set(node.id, functionName === '(garbage collector)' ? 'garbage collection' : own)
    for (const child of node.children ?? []) visit(byId.get(child)!, own)
  }
  if (nodes[0]) visit(nodes[0], 'other')
  return stages
}

/** The bundle names each source file in a comment above its code. */
class ModuleTable {
  readonly #bundles = new Map<string, readonly (string | undefined)[]>()

  stageOf({ url, lineNumber }: Profiler.ProfileNode['callFrame'], above: string): string {
    const module = url.startsWith('file:') ? this.#linesOf(url)[lineNumber] : undefined
    if (!module) return above
    const stage = STAGES.find(([prefix]) => module.startsWith(prefix))?.[1]
    if (stage) return stage
    return module.startsWith(SERVER) && !above.startsWith('API') ? SERVER_STAGE : above
  }

  #linesOf(url: string): readonly (string | undefined)[] {
    const known = this.#bundles.get(url)
    if (known) return known
    let module: string | undefined
    const lines = readFileSync(fileURLToPath(url), 'utf8')
      .split('\n')
      .map((line) => {
        module = /^\/\/ (\S+\.[cm]?[jt]s)$/.exec(line)?.[1] ?? module
        return module
      })
    this.#bundles.set(url, lines)
    return lines
  }
}
