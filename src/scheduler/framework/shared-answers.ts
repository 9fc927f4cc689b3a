import type { ClusterState } from '../cache/cluster-state.ts'
import type { CompiledRules } from './compiled-rules.ts'
import { NodeAnswers } from './node-answers.ts'
import { PodsAnswers } from './pods-answers.ts'
import { RejectionTable } from './rejection-table.ts'

/** What a class hears of the nodes; give it back when the class is forgotten. */
export interface ClassAnswers {
  readonly node: NodeAnswers
  readonly pods: PodsAnswers
  readonly rejections: RejectionTable
  release(): void
}

/** Answers in use, each kept once for all classes that hear it. */
export class SharedAnswers {
  readonly #cluster: ClusterState
  readonly #rejections = new RejectionTable()
  readonly #node = new Map<string, Shared<NodeAnswers>>()
  readonly #pods = new Map<string, Shared<PodsAnswers>>()

  constructor(cluster: ClusterState) {
    this.#cluster = cluster
  }

  for(rules: CompiledRules): ClassAnswers {
    const node = take(this.#node, rules.nodeKey, () => new NodeAnswers(rules, this.#cluster, this.#rejections))
    const pods = take(this.#pods, rules.podsKey, () => new PodsAnswers(rules, this.#cluster, this.#rejections))
    return {
      node,
      pods,
      rejections: this.#rejections,
      release: () => {
        giveBack(this.#node, rules.nodeKey, node)
        giveBack(this.#pods, rules.podsKey, pods)
      },
    }
  }
}

interface Shared<T> {
  readonly answers: T
  users: number
}

/** Without a key nobody else hears the same. */
function take<T>(known: Map<string, Shared<T>>, key: string | undefined, make: () => T): T {
  if (key === undefined) return make()
  const shared = known.get(key) ?? { answers: make(), users: 0 }
  known.set(key, shared)
  shared.users++
  return shared.answers
}

function giveBack<T>(known: Map<string, Shared<T>>, key: string | undefined, answers: T): void {
  if (key === undefined) return
  const shared = known.get(key)
  if (shared?.answers === answers && --shared.users === 0) known.delete(key)
}
