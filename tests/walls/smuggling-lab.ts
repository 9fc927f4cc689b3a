/** A cluster with an extension API server, a pod, a Service and a node, all of them backends of the test. */
import { networkInterfaces } from 'node:os'
import { issueCertificate } from '../../src/x509/certificate.ts'
import { startTestCluster, type TestCluster } from '../tools/cluster.ts'
import { at, textAt } from '../tools/json.ts'
import { expectStatus } from '../tools/use-cluster.ts'
import { RecordingBackend } from './smuggling-backend.ts'
import type { RawTarget } from './smuggling-client.ts'

const DAY = 24 * 60 * 60 * 1000
const GROUP = 'wardle.example.com'
const VERSION = 'v1alpha1'
const PREFIX = `/apis/${GROUP}/${VERSION}`
export const FLUNDERS = `${PREFIX}/namespaces/default/flunders`
export const POD = '/api/v1/namespaces/default/pods/web'
export const SERVICE = '/api/v1/namespaces/default/services/shop'
/** A service account that may create flunders and use the proxy of the pod and the Service, and nothing else. */
export const MALLORY = 'system:serviceaccount:default:mallory'

const RESOURCES = {
  kind: 'APIResourceList',
  apiVersion: 'v1',
  groupVersion: `${GROUP}/${VERSION}`,
  resources: [
    { name: 'flunders', singularName: 'flunder', namespaced: true, kind: 'Flunder', verbs: ['create', 'list'] },
  ],
}

/** An address of this machine that is not loopback: the API server's proxies refuse loopback. */
function ownAddress(): string {
  const all = Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? [])
  const found = all.find(({ family, internal }) => family === 'IPv4' && !internal)
  if (!found) throw new Error('these tests need a network interface with an IPv4 address besides loopback')
  return found.address
}

export class SmugglingLab implements AsyncDisposable {
  readonly cluster: TestCluster
  readonly extension: RecordingBackend
  readonly pod: RecordingBackend
  readonly host = ownAddress()
  token = ''
  podPort = 0

  private constructor(cluster: TestCluster, extension: RecordingBackend, pod: RecordingBackend) {
    this.cluster = cluster
    this.extension = extension
    this.pod = pod
  }

  static async start(): Promise<SmugglingLab> {
    const cluster = await startTestCluster({ store: 'memory' })
    const pair = issueCertificate({
      commonName: 'extension',
      usage: 'server',
      subjectAltNames: ['extension.default.svc'],
      notBefore: Date.now() - DAY,
      notAfter: Date.now() + DAY,
    })
    const ca = await frontProxyAuthority(cluster)
    const extension = new RecordingBackend(
      (request, response) => {
        const isList = request.url === PREFIX
        response.setHeader('content-type', 'application/json')
        response.end(JSON.stringify(isList ? RESOURCES : { kind: 'Flunder', by: request.headers['x-remote-user'] }))
      },
      { ...pair, ca },
    )
    const pod = new RecordingBackend((request, response) => void response.end(`pod: ${request.url}`))
    const lab = new SmugglingLab(cluster, extension, pod)
    await lab.#objects(Buffer.from(pair.cert).toString('base64'))
    return lab
  }

  /** Where the API server listens, for clients that show a token. */
  get target(): RawTarget {
    const { hostname, port } = new URL(this.cluster.api.server)
    return { host: hostname, port: Number(port), ca: this.cluster.api.credentials.ca }
  }

  get bearer(): readonly [string, string] {
    return ['authorization', `Bearer ${this.token}`]
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.cluster[Symbol.asyncDispose]()
    await this.extension[Symbol.asyncDispose]()
    await this.pod[Symbol.asyncDispose]()
  }

  async #objects(caBundle: string): Promise<void> {
    const { api } = this.cluster
    const [extensionPort, podPort] = await Promise.all([this.extension.listen(this.host), this.pod.listen(this.host)])
    this.podPort = podPort
    await this.#service('extension', 443, extensionPort)
    await this.#service('shop', 80, podPort)
    const containers = [{ name: 'main', image: 'x', ports: [{ containerPort: podPort }] }]
    const pods = '/api/v1/namespaces/default/pods'
    expectStatus(await api.create(pods, { metadata: { name: 'web' }, spec: { containers, nodeName: 'none' } }), 201)
    const status = { podIP: this.host, podIPs: [{ ip: this.host }] }
    expectStatus(await api.patch(`${pods}/web/status`, { status }), 200)
    const spec = { group: GROUP, version: VERSION, groupPriorityMinimum: 2000, versionPriority: 200, caBundle }
    const service = { namespace: 'default', name: 'extension', port: 443 }
    expectStatus(
      await api.create('/apis/apiregistration.k8s.io/v1/apiservices', {
        metadata: { name: `${VERSION}.${GROUP}` },
        spec: { ...spec, service },
      }),
      201,
    )
    await this.#mallory()
    await eventually(async () => (await api.get(FLUNDERS)).status === 200)
  }

  async #service(name: string, port: number, targetPort: number): Promise<void> {
    const { api } = this.cluster
    const services = '/api/v1/namespaces/default/services'
    expectStatus(await api.create(services, { metadata: { name }, spec: { ports: [{ port, targetPort }] } }), 201)
    const slice = {
      metadata: { name: `${name}-1`, labels: { 'kubernetes.io/service-name': name } },
      addressType: 'IPv4',
      ports: [{ name: '', port: targetPort }],
      endpoints: [{ addresses: [this.host], conditions: { ready: true } }],
    }
    expectStatus(await api.create('/apis/discovery.k8s.io/v1/namespaces/default/endpointslices', slice), 201)
  }

  async #mallory(): Promise<void> {
    const { api } = this.cluster
    const accounts = '/api/v1/namespaces/default/serviceaccounts'
    const rbac = '/apis/rbac.authorization.k8s.io/v1/namespaces/default'
    expectStatus(await api.create(accounts, { metadata: { name: 'mallory' } }), 201)
    const rules = [
      { apiGroups: [GROUP], resources: ['flunders'], verbs: ['create'] },
      { apiGroups: [''], resources: ['pods/proxy', 'services/proxy'], verbs: ['get', 'create'] },
    ]
    expectStatus(await api.create(`${rbac}/roles`, { metadata: { name: 'small' }, rules }), 201)
    const binding = {
      metadata: { name: 'small' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'small' },
      subjects: [{ kind: 'ServiceAccount', name: 'mallory', namespace: 'default' }],
    }
    expectStatus(await api.create(`${rbac}/rolebindings`, binding), 201)
    const made = expectStatus(await api.create(`${accounts}/mallory/token`, { spec: {} }), 201)
    this.token = textAt(made.object, 'status.token')
  }
}

async function frontProxyAuthority({ api }: TestCluster): Promise<string> {
  const path = '/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication'
  let found = ''
  await eventually(async () => {
    const { status, object } = await api.get(path)
    found = status === 200 ? String(at(object, 'data.requestheader-client-ca-file') ?? '') : ''
    return found !== ''
  })
  return found
}

export async function eventually(isTrue: () => Promise<boolean>): Promise<void> {
  for (let tries = 0; !(await isTrue()); tries++) {
    if (tries > 200) throw new Error('it did not come true in time')
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
}
