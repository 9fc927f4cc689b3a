/** What nodes and pods use, asked of the kubelets: the source of metrics.k8s.io where nodes are real. */
import { Agent, request } from 'node:https'
import type { Node } from '../../api/generated/core-v1.ts'
import { nodeKind } from '../../api/kinds/core/node/kind.ts'
import type { Clock } from '../../base/clock.ts'
import type { Logger } from '../../base/log.ts'
import type { Client } from '../../client/client.ts'
import type { MetricsSource, NodeMetrics, PodMetrics } from '../../client/metrics-source.ts'
import type { KeyPair } from '../certificates.ts'

export interface KubeletMetricsOptions {
  readonly client: Client
  readonly ca: string
  /** Whom the kubelets take the asker for. */
  readonly identity: KeyPair
  readonly clock: Clock
  readonly log: Logger
}

interface Usage {
  readonly cpu?: { readonly time?: string; readonly usageNanoCores?: number }
  readonly memory?: { readonly workingSetBytes?: number }
}

/** The part of /stats/summary that is read. */
interface Summary {
  readonly node: Usage & { readonly nodeName: string }
  readonly pods: readonly {
    readonly podRef: { readonly name: string; readonly namespace: string }
    readonly containers: readonly (Usage & { readonly name: string })[]
  }[]
}

const WINDOW = '10s'
/** Kubelets are asked at most so often, however many ask here. */
const FRESH_MILLISECONDS = 5000
const TIMEOUT = 5000

const agentOf = (ca: string, { cert, key }: KeyPair) => new Agent({ ca, cert, key, keepAlive: true })

export class KubeletMetrics implements MetricsSource, Disposable {
  readonly #options: KubeletMetricsOptions
  #agent: Agent
  #asked: { readonly at: number; readonly answers: Promise<readonly Summary[]> } | undefined

  constructor(options: KubeletMetricsOptions) {
    this.#options = options
    this.#agent = agentOf(options.ca, options.identity)
  }

  /** From now on. */
  useIdentity(identity: KeyPair): void {
    this.#agent.destroy()
    this.#agent = agentOf(this.#options.ca, identity)
  }

  [Symbol.dispose](): void {
    this.#agent.destroy()
  }

  async nodes(): Promise<readonly NodeMetrics[]> {
    const summaries = await this.#summaries()
    return summaries.flatMap(({ node }) => {
      const usage = usageOf(node)
      return usage ? [{ metadata: { name: node.nodeName }, timestamp: node.cpu!.time!, window: WINDOW, usage }] : []
    })
  }

  async node(name: string): Promise<NodeMetrics | undefined> {
    return (await this.nodes()).find(({ metadata }) => metadata.name === name)
  }

  /** A pod is told of once every container of it has been measured. */
  async pods(namespace?: string): Promise<readonly PodMetrics[]> {
    const summaries = await this.#summaries()
    const known = summaries.flatMap(({ pods }) => pods)
    return known
      .filter(({ podRef }) => namespace === undefined || podRef.namespace === namespace)
      .flatMap(({ podRef, containers }) => {
        const measured = containers.flatMap((container) => {
          const usage = usageOf(container)
          return usage ? [{ name: container.name, usage }] : []
        })
        if (measured.length === 0 || measured.length < containers.length) return []
        const metadata = { name: podRef.name, namespace: podRef.namespace }
        return [{ metadata, timestamp: containers[0]!.cpu!.time!, window: WINDOW, containers: measured }]
      })
  }

  async pod(namespace: string, name: string): Promise<PodMetrics | undefined> {
    return (await this.pods(namespace)).find(({ metadata }) => metadata.name === name)
  }

  #summaries(): Promise<readonly Summary[]> {
    const now = this.#options.clock.now()
    if (!this.#asked || now - this.#asked.at > FRESH_MILLISECONDS) this.#asked = { at: now, answers: this.#askAll() }
    return this.#asked.answers
  }

  async #askAll(): Promise<readonly Summary[]> {
    const { items } = await this.#options.client.resource(nodeKind).list()
    const answers = await Promise.all(items.map((node) => this.#ask(node)))
    return answers.filter((answer) => answer !== undefined)
  }

  /** A node that does not answer has no figures; the others have. */
  async #ask(node: Node): Promise<Summary | undefined> {
    const host = node.status?.addresses?.find(({ type }) => type === 'InternalIP')?.address
    const port = node.status?.daemonEndpoints?.kubeletEndpoint?.Port
    if (host === undefined || port === undefined) return undefined
    try {
      return JSON.parse(await this.#get(host, port)) as Summary
    } catch (error) {
      this.#options.log.debug('a kubelet told no figures', { node: node.metadata.name, error })
      return undefined
    }
  }

  #get(host: string, port: number): Promise<string> {
    return new Promise((resolve, reject) => {
      const asking = request({ host, port, path: '/stats/summary', agent: this.#agent, timeout: TIMEOUT }, (answer) => {
        const chunks: Buffer[] = []
        answer.on('data', (chunk: Buffer) => chunks.push(chunk))
        answer.on('error', reject)
        answer.on('end', () => {
          if (answer.statusCode === 200) resolve(Buffer.concat(chunks).toString())
          else reject(new Error(`status ${answer.statusCode}`))
        })
      })
      asking.on('timeout', () => asking.destroy(new Error('no answer in time')))
      asking.on('error', reject)
      asking.end()
    })
  }
}

/** Undefined until there is a rate, which takes two measurements. */
function usageOf({ cpu, memory }: Usage): { cpu: string; memory: string } | undefined {
  if (cpu?.usageNanoCores === undefined || cpu.time === undefined || memory?.workingSetBytes === undefined)
    return undefined
  return { cpu: `${Math.round(cpu.usageNanoCores)}n`, memory: `${Math.ceil(memory.workingSetBytes / 1024)}Ki` }
}
