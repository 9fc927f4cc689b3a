/** A control plane of a test's own, asked over HTTPS as different users. */
import { request } from 'node:https'
import { type Cluster, type ClusterOptions, startCluster } from '../../src/cluster/start-cluster.ts'

export interface Answer {
  readonly code: number
  readonly text: string
  readonly warnings: string
}

export interface Request {
  /** `POST /api/v1/namespaces` */
  readonly ask: string
  readonly body?: object
  readonly headers?: Readonly<Record<string, string>>
}

export const RBAC = 'rbac.authorization.k8s.io'
export const EVERYTHING = ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete', 'deletecollection']
export const APPLY = { 'content-type': 'application/apply-patch+yaml' }
export const JSON_PATCH = { 'content-type': 'application/json-patch+json' }
export const STRATEGIC = { 'content-type': 'application/strategic-merge-patch+json' }

/** What `kubectl exec` of v1.31 and later asks for. */
export const WEB_SOCKET = {
  connection: 'Upgrade',
  upgrade: 'websocket',
  'sec-websocket-version': '13',
  'sec-websocket-key': 'MDEyMzQ1Njc4OWFiY2RlZg==',
  'sec-websocket-protocol': 'v5.channel.k8s.io',
}

export interface Rule {
  readonly apiGroups?: readonly string[]
  readonly resources?: readonly string[]
  readonly resourceNames?: readonly string[]
  readonly nonResourceURLs?: readonly string[]
  readonly verbs: readonly string[]
}

export class AskedCluster implements AsyncDisposable {
  readonly #cluster: Cluster
  readonly ca: string
  readonly #issue: (name: string, groups: string[]) => { cert: string; key: string }
  readonly #keys = new Map<string, { cert: string; key: string }>()
  #grants = 0

  private constructor(cluster: Cluster, certificates: Awaited<Cluster['certificates']>) {
    this.#cluster = cluster
    this.ca = certificates.ca.cert
    this.#issue = (name, groups) => certificates.issueClient(name, groups)
  }

  static async start(options: ClusterOptions = {}): Promise<AskedCluster> {
    const cluster = await startCluster({ controllers: false, scheduler: false, ...options })
    return new AskedCluster(cluster, await cluster.certificates)
  }

  /** `admin` may everything; `system:node:…` is a node; all others have what they are granted. */
  #identity(user: string) {
    const groups = user === 'admin' ? ['system:masters'] : user.startsWith('system:node:') ? ['system:nodes'] : []
    const known = this.#keys.get(user) ?? this.#issue(user, groups)
    this.#keys.set(user, known)
    return known
  }

  send(user: string, { ask, body, headers = {} }: Request): Promise<Answer> {
    const [method, path] = ask.split(' ') as [string, string]
    const text = body === undefined ? undefined : JSON.stringify(body)
    const type = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json'
    const all = { ...(text !== undefined && { 'content-type': type }), ...headers }
    const { hostname, port } = new URL(this.#cluster.url!)
    const tls = { ca: this.ca, ...this.#identity(user) }
    return new Promise((resolve, reject) => {
      const asked = request({ hostname, port, method, path, headers: all, agent: false, ...tls }, (response) => {
        const parts: Buffer[] = []
        response.on('data', (part: Buffer) => parts.push(part))
        response.on('end', () => {
          const warnings = String(response.headers.warning ?? '')
          resolve({ code: response.statusCode!, text: Buffer.concat(parts).toString(), warnings })
        })
      })
      asked.on('upgrade', (response, socket) => {
        socket.destroy()
        resolve({ code: response.statusCode!, text: '', warnings: '' })
      })
      asked.on('error', reject)
      asked.end(text)
    })
  }

  /** As the administrator; it must succeed. */
  async make(path: string, body: object): Promise<Record<string, unknown>> {
    return this.must({ ask: `POST ${path}`, body })
  }

  async must(request: Request): Promise<Record<string, unknown>> {
    const { code, text } = await this.send('admin', request)
    if (code >= 300) throw new Error(`${request.ask}: ${code} ${text}`)
    return JSON.parse(text) as Record<string, unknown>
  }

  /** Gives a user these rights, in one namespace or everywhere. */
  async grant(user: string, rules: readonly Rule[], namespace?: string): Promise<void> {
    const name = `grant-${this.#grants++}`
    const [kind, place] = namespace ? ['Role', `namespaces/${namespace}/`] : ['ClusterRole', '']
    const [roles, bindings] = namespace ? ['roles', 'rolebindings'] : ['clusterroles', 'clusterrolebindings']
    await this.make(`/apis/${RBAC}/v1/${place}${roles}`, { metadata: { name }, rules })
    const subjects = [{ apiGroup: RBAC, kind: 'User', name: user }]
    const binding = { metadata: { name }, roleRef: { apiGroup: RBAC, kind, name }, subjects }
    await this.make(`/apis/${RBAC}/v1/${place}${bindings}`, binding)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#cluster[Symbol.asyncDispose]()
  }
}
