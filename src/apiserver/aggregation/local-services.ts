import type { APIService } from '../../api/generated/apiregistration-v1.ts'
import type { Kind } from '../../api/kind.ts'
import { ApiError } from '../../api/meta/api-error.ts'
import type { ResourceType, Transport } from '../../client/transport.ts'
import { groupPriorityOf, isBuiltinGroup, versionPriorityOf } from './priorities.ts'

export const API_SERVICES: ResourceType = {
  group: 'apiregistration.k8s.io',
  version: 'v1',
  plural: 'apiservices',
  namespaced: false,
}
const MANAGED = 'kube-aggregator.kubernetes.io/automanaged'
/** Served whether there are APIServices or not; and what others may want to serve instead of us. */
const UNREGISTERED = new Set(['apiregistration.k8s.io', 'metrics.k8s.io'])

/** Keeps an APIService for every group version that this server serves itself. */
export class LocalServices {
  readonly #transport: Transport
  readonly #kinds: () => Iterable<Kind>
  readonly #known = new Map<string, APIService>()
  #running: Promise<void> | undefined
  #isStale = false

  constructor(transport: Transport, kinds: () => Iterable<Kind>) {
    this.#transport = transport
    this.#kinds = kinds
  }

  note(name: string, object: APIService | undefined): void {
    if (object) this.#known.set(name, object)
    else this.#known.delete(name)
  }

  /** Whether this one is kept here. */
  isManaged(name: string): boolean {
    return this.#known.get(name)?.metadata.labels?.[MANAGED] !== undefined
  }

  /** One run at a time; what changes meanwhile is seen by the next. */
  keep(): Promise<void> {
    this.#isStale = true
    this.#running ??= this.#run().finally(() => {
      this.#running = undefined
    })
    return this.#running
  }

  async #run(): Promise<void> {
    while (this.#isStale) {
      this.#isStale = false
      await this.#reconcile()
    }
  }

  async #reconcile(): Promise<void> {
    const wanted = servedBy(this.#kinds())
    const missing = [...wanted].filter(([name]) => !this.#known.has(name)).map(([, gv]) => this.#create(gv))
    const gone = [...this.#known]
      .filter(([name, { metadata }]) => !wanted.has(name) && metadata.labels?.[MANAGED] === 'true')
      .map(([name]) => this.#transport.call({ verb: 'delete', resource: API_SERVICES, name }).catch(unless(404)))
    await Promise.all([...missing, ...gone])
  }

  async #create(groupVersion: GroupVersion): Promise<void> {
    const body = apiService(groupVersion)
    await this.#transport.call({ verb: 'create', resource: API_SERVICES, body }).catch(unless(409))
  }
}

interface GroupVersion {
  readonly group: string
  readonly version: string
}

/** An APIService for each group version that is served here. */
export const localServices = (kinds: Iterable<Kind>) => [...servedBy(kinds).values()].map(apiService)

function servedBy(kinds: Iterable<Kind>): Map<string, GroupVersion> {
  const served = new Map<string, GroupVersion>()
  for (const { group, version } of kinds)
    if (!UNREGISTERED.has(group)) served.set(`${version}.${group}`, { group, version })
  return served
}

const apiService = ({ group, version }: GroupVersion) => ({
  kind: 'APIService',
  apiVersion: 'apiregistration.k8s.io/v1',
  metadata: {
    name: `${version}.${group}`,
    labels: { [MANAGED]: isBuiltinGroup(group) ? 'onstart' : 'true' },
  },
  spec: {
    ...(group && { group }),
    version,
    groupPriorityMinimum: groupPriorityOf(group),
    versionPriority: versionPriorityOf(group, version),
  },
})

const unless = (code: number) => (error: unknown) => {
  if (!(error instanceof ApiError) || error.code !== code) throw error
}
