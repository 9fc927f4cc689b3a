/** Rights that lead to other rights: giving them, being another, signing certificates. */
import { afterAll, beforeAll, describe } from 'vitest'
import { AskedCluster, RBAC, type Request } from './asking.ts'
import { core, everywhere, matrix, of, row } from './rights.ts'

let cluster: AskedCluster

beforeAll(async () => {
  cluster = await AskedCluster.start()
  await cluster.make('/api/v1/namespaces', { metadata: { name: 'own' } })
  const secret = { metadata: { name: 'known' }, stringData: { a: 'hunter2' } }
  await cluster.make('/api/v1/namespaces/own/secrets', secret)
})
afterAll(() => cluster?.[Symbol.asyncDispose]())

describe('rights to give rights', () => {
  const ROLES = `/apis/${RBAC}/v1/namespaces/own/roles`
  const BINDINGS = `/apis/${RBAC}/v1/namespaces/own/rolebindings`
  const CLUSTER_ROLES = `/apis/${RBAC}/v1/clusterroles`
  const wide = { rules: [{ apiGroups: [''], resources: ['secrets'], verbs: ['*'] }] }
  const binding = (name: string, kind = 'ClusterRole') => ({
    metadata: { name: 'b' },
    roleRef: { apiGroup: RBAC, kind, name },
    subjects: [{ apiGroup: RBAC, kind: 'User', name: 'mallory' }],
  })
  const make = (path: string, body: object): Request => ({ ask: `POST ${path}?dryRun=All`, body })
  const held = 'not currently held'
  const may = (resources: string, verbs: string, names?: string[]) => of(RBAC, resources, verbs, names)
  matrix(
    () => cluster,
    [
      row(
        'create of roles does not give what one has not',
        may('roles', 'create'),
        make(ROLES, { metadata: { name: 'r' }, ...wide }),
        403,
        held,
      ),
      row(
        'create of roles gives what one has',
        [may('roles', 'create'), core('secrets', '*')],
        make(ROLES, { metadata: { name: 'r' }, ...wide }),
        201,
      ),
      row(
        'escalate gives all',
        may('roles', 'create escalate'),
        make(ROLES, { metadata: { name: 'r' }, ...wide }),
        201,
      ),
      row(
        'escalate of one role is not of another',
        [may('roles', 'create'), may('roles', 'escalate', ['q'])],
        make(ROLES, { metadata: { name: 'r' }, ...wide }),
        403,
        held,
      ),
      row(
        'create of bindings does not give cluster-admin',
        may('rolebindings', 'create'),
        make(BINDINGS, binding('cluster-admin')),
        403,
        held,
      ),
      row(
        'bind of one role gives it',
        [may('rolebindings', 'create'), may('clusterroles', 'bind', ['system:aggregate-to-view'])],
        make(BINDINGS, binding('system:aggregate-to-view')),
        201,
      ),
      row(
        'bind of one role does not give another',
        [may('rolebindings', 'create'), may('clusterroles', 'bind', ['system:aggregate-to-view'])],
        make(BINDINGS, binding('system:aggregate-to-edit')),
        403,
        held,
      ),
      row(
        'bind of roles is not of cluster roles',
        [may('rolebindings', 'create'), may('roles', 'bind')],
        make(BINDINGS, binding('system:aggregate-to-view')),
        403,
        held,
      ),
      row(
        'a role that is not there yet gives nothing, so it cannot be bound',
        may('rolebindings', 'create'),
        make(BINDINGS, binding('later', 'Role')),
        404,
      ),
      row('all verbs are bind and escalate', may('*', '*'), make(BINDINGS, binding('cluster-admin')), 201),
    ],
  )
  const aggregated = {
    metadata: { name: 'a' },
    aggregationRule: { clusterRoleSelectors: [{ matchLabels: { a: 'b' } }] },
    rules: [],
  }
  matrix(
    () => cluster,
    [
      everywhere(
        row(
          'aggregation takes all rights',
          may('clusterroles', 'create update'),
          make(CLUSTER_ROLES, aggregated),
          403,
          'must have cluster-admin privileges to use the aggregationRule',
        ),
      ),
      everywhere(
        row(
          'a label that aggregates gives no more than one has',
          may('clusterroles', 'create'),
          make(CLUSTER_ROLES, { metadata: { name: 'x', labels: { [`${RBAC}/aggregate-to-view`]: 'true' } }, ...wide }),
          403,
          held,
        ),
      ),
      everywhere(
        row(
          'an update of a role gives no more either',
          may('clusterroles', 'patch get'),
          { ask: `PATCH ${CLUSTER_ROLES}/system:aggregate-to-view?dryRun=All`, body: wide },
          403,
          held,
        ),
      ),
      everywhere(
        row(
          'a binding keeps its role',
          may('clusterrolebindings', '*'),
          {
            ask: `PATCH /apis/${RBAC}/v1/clusterrolebindings/system:discovery?dryRun=All`,
            body: { roleRef: { apiGroup: RBAC, kind: 'ClusterRole', name: 'cluster-admin' } },
          },
          422,
        ),
      ),
    ],
  )
})

describe('being another', () => {
  const ask = 'GET /api/v1/namespaces/own/secrets/known'
  const as = (headers: Record<string, string>): Request => ({ ask, headers })
  const may = (resources: string, names?: string[], group = '') => of(group, resources, 'impersonate', names)
  const admin = { 'impersonate-user': 'ann', 'impersonate-group': 'system:masters' }
  matrix(
    () => cluster,
    [
      row('the right to be users does not make one of a group', may('users'), as(admin), 403),
      row(
        'the right to be one user is not to be another',
        may('users', ['bob']),
        as({ 'impersonate-user': 'ann' }),
        403,
      ),
      row(
        'the right to be users is not to be accounts',
        may('users'),
        as({ 'impersonate-user': 'system:serviceaccount:kube-system:default' }),
        403,
      ),
      row(
        'the right to be accounts is not to be users',
        may('serviceaccounts'),
        as({ 'impersonate-user': 'ann' }),
        403,
      ),
      row('uids are apart', may('users'), as({ 'impersonate-user': 'ann', 'impersonate-uid': '1' }), 403),
      row('extras are apart', may('users'), as({ 'impersonate-user': 'ann', 'impersonate-extra-scopes': 'all' }), 403),
      row('users and groups are system:masters, if one may be these', may('users groups'), as(admin), 200),
    ].map(everywhere),
  )
  matrix(() => cluster, [row('in a namespace the right to be users is nothing', may('users groups'), as(admin), 403)])
})

describe('certificates', () => {
  const CSRS = '/apis/certificates.k8s.io/v1/certificatesigningrequests'
  const GROUP = 'certificates.k8s.io'
  beforeAll(async () => {
    const request = Buffer.from(CSR).toString('base64')
    const spec = { request, signerName: 'example.org/x', usages: ['client auth'] }
    await cluster.make(CSRS, { metadata: { name: 'asked' }, spec })
  })
  const conditions = [{ type: 'Approved', status: 'True', reason: 'Me', message: 'm' }]
  const approve: Request = { ask: `PATCH ${CSRS}/asked/approval?dryRun=All`, body: { status: { conditions } } }
  const status = () => ({ certificate: Buffer.from(cluster.ca).toString('base64') })
  const sign: Request = {
    ask: `PATCH ${CSRS}/asked/status?dryRun=All`,
    get body() {
      return { status: status() }
    },
  }
  const approval = of(GROUP, 'certificatesigningrequests/approval', 'update patch get')
  const statusOf = of(GROUP, 'certificatesigningrequests/status', 'update patch get')
  matrix(
    () => cluster,
    [
      row('requests are not their approval', of(GROUP, 'certificatesigningrequests', '*'), approve, 403),
      row('approval takes the right to approve for the signer', approval, approve, 403, 'example.org/x'),
      row(
        'and for this one',
        [approval, of(GROUP, 'signers', 'approve', ['example.org/y'])],
        approve,
        403,
        'example.org/x',
      ),
      row(
        'all signers of a domain are enough',
        [approval, of(GROUP, 'signers', 'approve', ['example.org/*'])],
        approve,
        200,
      ),
      row(
        'the right to sign is not to approve',
        [approval, of(GROUP, 'signers', 'sign', ['example.org/x'])],
        approve,
        403,
      ),
      row('the status takes the right to sign', statusOf, sign, 403, 'example.org/x'),
      row(
        'the right to approve is not to sign',
        [statusOf, of(GROUP, 'signers', 'approve', ['example.org/x'])],
        sign,
        403,
      ),
    ].map(everywhere),
  )
})

/** A request without a real owner: `openssl req -new -newkey ec:P-256 -subj /CN=x`. */
const CSR = `-----BEGIN CERTIFICATE REQUEST-----
MIHFMG4CAQAwDDEKMAgGA1UEAwwBeDBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IA
BEi8btVstCBp2v5NvURncMtEa+DwSNN51gjYeorS03s1gC6Vy5z5z6K1QAneMsKe
XI5tl18aeHsKvL6L/Wkw5e6gADAKBggqhkjOPQQDAgNHADBEAiAuR0OC1gB3AXMj
a914OJCEcjtW4cFO1mmqhaAAPFNmtAIgJeFqYWWdjtympbWb5mB2aHjoLEs+Sbiv
cpNIbZlyq1Y=
-----END CERTIFICATE REQUEST-----
`
