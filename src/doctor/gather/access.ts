import { ApiError } from '../../api/meta/api-error.ts'
import type { HttpTransport } from '../../client/http-transport.ts'
import type { AccessProbe, AdmissionProbe, Attempt } from '../facts.ts'
import { askHttps } from './https-status.ts'
import type { Inspected } from './inspected.ts'

const REVIEWS = { group: 'authorization.k8s.io', version: 'v1', plural: 'subjectaccessreviews', namespaced: false }
const NODE = 'sampan-doctor'
const MISSING = 'sampan-doctor-missing'
const AUTHENTICATED = 'system:authenticated'
/** Of documentation: nobody has it. */
const OUTSIDE_ADDRESS = '192.0.2.1'

const PROBES: Readonly<Record<AccessProbe, object>> = {
  'stranger deletes namespaces': {
    user: MISSING,
    groups: [AUTHENTICATED],
    resourceAttributes: { verb: 'delete', resource: 'namespaces', name: 'default' },
  },
  'node reads itself': {
    user: `system:node:${NODE}`,
    groups: ['system:nodes', AUTHENTICATED],
    resourceAttributes: { verb: 'get', resource: 'nodes', name: NODE },
  },
  'role lets users read the version': {
    user: MISSING,
    groups: [AUTHENTICATED],
    nonResourceAttributes: { verb: 'get', path: '/version' },
  },
  'controller manager creates pods': {
    user: 'system:kube-controller-manager',
    groups: [AUTHENTICATED],
    resourceAttributes: { verb: 'create', resource: 'pods', namespace: 'default' },
  },
}

/** Asks the authorizers of the cluster. */
export async function accessFacts(api: HttpTransport): Promise<Record<AccessProbe, boolean>> {
  const asked = Object.entries(PROBES).map(async ([probe, spec]) => {
    const review = (await api.call({ verb: 'create', resource: REVIEWS, body: { ...typeOf(REVIEWS), spec } })) as {
      status?: { allowed?: boolean }
    }
    return [probe, review.status?.allowed === true] as const
  })
  return Object.fromEntries(await Promise.all(asked)) as Record<AccessProbe, boolean>
}

const typeOf = ({ group, version }: { group: string; version: string }) => ({
  apiVersion: group === '' ? version : `${group}/${version}`,
  kind: 'SubjectAccessReview',
})

const core = (plural: string) => ({ group: '', version: 'v1', plural, namespaced: true })
const container = { name: 'c', image: 'sampan.local/host' }

/** Tries to create objects, without creating them. */
export async function admissionFacts({ api, url, credentials }: Inspected): Promise<Record<AdmissionProbe, Attempt>> {
  const pod = (spec: object) => ({ apiVersion: 'v1', kind: 'Pod', metadata: { name: MISSING }, spec })
  const configMap = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: MISSING } }
  const service = {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: MISSING },
    spec: { ports: [{ port: 80 }], externalIPs: [OUTSIDE_ADDRESS] },
  }
  const [account, namespace, node, external, pull] = await Promise.all([
    tryToCreate(api, 'pods', 'default', pod({ serviceAccountName: MISSING, containers: [container] })),
    tryToCreate(api, 'configmaps', MISSING, configMap),
    tryAsNode(url, credentials),
    tryToCreate(api, 'services', 'default', service),
    tryToCreate(api, 'pods', 'default', pod({ containers: [{ ...container, imagePullPolicy: 'Never' }] })),
  ])
  return {
    'pod of a missing service account': account,
    'object in a missing namespace': namespace,
    'label of another node by a node': node,
    'service with external addresses': external,
    'pod that does not pull its image': pull,
  }
}

/** A dry run. The answer of an admitted pod is its image pull policy. */
export async function tryToCreate(
  api: HttpTransport,
  plural: string,
  namespace: string,
  body: object,
): Promise<Attempt> {
  try {
    const created = await api.call({
      verb: 'create',
      resource: core(plural),
      namespace,
      body,
      query: { dryRun: 'All' },
    })
    const { spec } = created as { spec?: { containers?: { imagePullPolicy?: string }[] } }
    return { isAdmitted: true, answer: spec?.containers?.[0]?.imagePullPolicy ?? '' }
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    return { isAdmitted: false, answer: error.message }
  }
}

/** A node may create itself, and the node authorizer does not look at names: only admission refuses another one. */
async function tryAsNode(url: string, credentials: Inspected['credentials']): Promise<Attempt> {
  const headers = {
    'content-type': 'application/json',
    'impersonate-user': `system:node:${NODE}`,
    'impersonate-group': 'system:nodes',
  }
  const body = JSON.stringify({ apiVersion: 'v1', kind: 'Node', metadata: { name: MISSING } })
  const answer = await askHttps(`${url}/api/v1/nodes?dryRun=All`, credentials, { method: 'POST', headers, body })
  if (!answer) return { isAdmitted: false, answer: 'no answer' }
  const { message = '' } = JSON.parse(answer.body) as { message?: string }
  return { isAdmitted: answer.status < 300, answer: message }
}
