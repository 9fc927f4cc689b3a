/**
 * Everything about a pod that a level of Pod Security refuses, in every place of the pod and by every way that leads to a pod. The
 * user has all rights in the namespaces, and none on the namespaces themselves.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { APPLY, AskedCluster, EVERYTHING, JSON_PATCH, type Request, STRATEGIC } from './asking.ts'

type Level = 'privileged' | 'baseline' | 'restricted'
type Fields = Record<string, unknown>
interface PodParts {
  readonly annotations?: Fields
  readonly spec?: Fields
  /** Of one container, wherever it is. */
  readonly container?: Fields
}

const LEVELS: readonly Level[] = ['privileged', 'baseline', 'restricted']
const PLACES = ['containers', 'initContainers'] as const
const CONTROLLER = 'system:serviceaccount:kube-system:replicaset-controller'
const namespaceOf = (level: Level) => `with-${level}`
const pods = (level: Level) => `/api/v1/namespaces/${namespaceOf(level)}/pods`
const enforce = (level: Level) => ({ 'pod-security.kubernetes.io/enforce': level })

const SAFE = {
  allowPrivilegeEscalation: false,
  capabilities: { drop: ['ALL'] },
  runAsNonRoot: true,
  seccompProfile: { type: 'RuntimeDefault' },
}
const container = (name: string, more: Fields = {}) => ({
  name,
  image: 'i',
  ...more,
  securityContext: { ...SAFE, ...(more.securityContext as Fields) },
})

function podWith(parts: PodParts, place: (typeof PLACES)[number] = 'containers', name = 'p') {
  const changed = container('changed', parts.container)
  const containers = place === 'containers' ? [changed] : [container('plain')]
  const initContainers = place === 'initContainers' ? { initContainers: [changed] } : {}
  const { annotations } = parts
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, ...(annotations && { annotations }) },
    spec: { containers, ...initContainers, ...parts.spec },
  }
}

const securityContext = (fields: Fields): PodParts => ({ container: { securityContext: fields } })
const podContext = (fields: Fields): PodParts => ({ spec: { securityContext: fields } })
const volume = (source: Fields): PodParts => ({ spec: { volumes: [{ name: 'v', ...source }] } })
const probe = { httpGet: { port: 80, host: '169.254.169.254' } }
const windows = (more: Fields = {}): PodParts => ({ spec: { os: { name: 'windows' }, ...more } })

/** By the strictest level that allows it. */
const ASKED: Readonly<Record<Level, Readonly<Record<string, PodParts>>>> = {
  privileged: {
    hostNetwork: { spec: { hostNetwork: true } },
    hostPID: { spec: { hostPID: true } },
    hostIPC: { spec: { hostIPC: true } },
    'a hostPath volume': volume({ hostPath: { path: '/' } }),
    'the annotation sampan.dev/host-path': { annotations: { 'sampan.dev/host-path': '/' } },
    'an empty annotation sampan.dev/host-path': { annotations: { 'sampan.dev/host-path': '' } },
    'a hostPort': { container: { ports: [{ containerPort: 80, hostPort: 80 }] } },
    'a probe of another host': { container: { readinessProbe: probe } },
    'a hook for another host': { container: { lifecycle: { preStop: probe } } },
    privileged: securityContext({ privileged: true, allowPrivilegeEscalation: true }),
    'a capability': securityContext({ capabilities: { drop: ['ALL'], add: ['SYS_ADMIN'] } }),
    'all capabilities': securityContext({ capabilities: { add: ['ALL'] } }),
    'no seccomp': securityContext({ seccompProfile: { type: 'Unconfined' } }),
    'no seccomp for the pod': podContext({ seccompProfile: { type: 'Unconfined' } }),
    'no AppArmor': securityContext({ appArmorProfile: { type: 'Unconfined' } }),
    'no AppArmor for the pod': podContext({ appArmorProfile: { type: 'Unconfined' } }),
    'no AppArmor by annotation': {
      annotations: { 'container.apparmor.security.beta.kubernetes.io/changed': 'unconfined' },
    },
    'a SELinux type': securityContext({ seLinuxOptions: { type: 'spc_t' } }),
    'a SELinux user of the pod': podContext({ seLinuxOptions: { user: 'system_u' } }),
    'a SELinux role': securityContext({ seLinuxOptions: { role: 'sysadm_r' } }),
    'a sysctl': podContext({ sysctls: [{ name: 'kernel.msgmax', value: '1' }] }),
  },
  baseline: {
    'an unmasked /proc in users of its own': {
      spec: { hostUsers: false },
      ...securityContext({ procMount: 'Unmasked' }),
    },
    'privilege escalation': securityContext({ allowPrivilegeEscalation: true }),
    'default capabilities': securityContext({ capabilities: { drop: ['NET_RAW'] } }),
    'a default capability': securityContext({ capabilities: { drop: ['ALL'], add: ['CHOWN'] } }),
    'a volume of a kind of others': volume({ nfs: { server: 's', path: '/' } }),
    'an iSCSI volume': volume({ iscsi: { targetPortal: '192.0.2.1', iqn: 'iqn.2020-01.org:a', lun: 0 } }),
    'root, maybe': securityContext({ runAsNonRoot: false }),
    'root for the pod, maybe': podContext({ runAsNonRoot: false }),
    'user 0': securityContext({ runAsUser: 0 }),
    'user 0 for the pod': podContext({ runAsUser: 0 }),
  },
  restricted: {
    nothing: {},
    'a port': securityContext({ capabilities: { drop: ['ALL'], add: ['NET_BIND_SERVICE'] } }),
    'a safe sysctl': podContext({ sysctls: [{ name: 'net.ipv4.tcp_syncookies', value: '1' }] }),
    'a secret volume': volume({ secret: { secretName: 's' } }),
    'an image volume': volume({ image: { reference: 'i' } }),
    'a claim': volume({ persistentVolumeClaim: { claimName: 'c' } }),
    'user 0 in users of its own': {
      spec: { hostUsers: false },
      ...securityContext({ runAsUser: 0, runAsNonRoot: false }),
    },
  },
}

let cluster: AskedCluster
const asDev = (request: Request) => cluster.send('dev', request)

beforeAll(async () => {
  cluster = await AskedCluster.start()
  const rules = [{ apiGroups: ['', 'apps', 'batch'], resources: ['*'], verbs: EVERYTHING }]
  for (const level of LEVELS) {
    const namespace = namespaceOf(level)
    await cluster.make('/api/v1/namespaces', { metadata: { name: namespace, labels: enforce(level) } })
    for (const user of ['dev', CONTROLLER]) await cluster.grant(user, rules, namespace)
  }
})
afterAll(() => cluster?.[Symbol.asyncDispose]())

const isAllowed = (level: Level, upTo: Level) => LEVELS.indexOf(level) <= LEVELS.indexOf(upTo)
const refusal = (level: Level) => `violates PodSecurity \\"${level}:latest\\"`

describe('a new pod', () => {
  const rows = LEVELS.flatMap((upTo) =>
    Object.entries(ASKED[upTo]).flatMap(([what, parts]) =>
      PLACES.filter((place) => place === 'containers' || parts.container).map(
        (place) => [what, place, upTo, parts] as const,
      ),
    ),
  )
  // Init containers have no probes and no hooks.
  const isValid = (what: string, place: string) => place === 'containers' || !/probe|hook/.test(what)

  test.each(rows.filter(([what, place]) => isValid(what, place)))(
    'with %s in its %s is allowed up to %s',
    async (_, place, upTo, parts) => {
      for (const level of LEVELS) {
        const { code, text } = await asDev({ ask: `POST ${pods(level)}?dryRun=All`, body: podWith(parts, place) })
        expect(`${level} ${code} ${text}`).toMatch(new RegExp(`^${level} ${isAllowed(level, upTo) ? 201 : 403} `))
        if (code === 403) expect(text).toContain(refusal(level))
      }
    },
  )

  test('for Windows needs no rules of Linux, and must not be a process of its host', async () => {
    const bare = { ...podWith(windows()), spec: { ...windows().spec, containers: [{ name: 'c', image: 'i' }] } }
    const nonRoot = { ...bare, spec: { ...bare.spec, securityContext: { runAsNonRoot: true } } }
    expect((await asDev({ ask: `POST ${pods('restricted')}?dryRun=All`, body: nonRoot })).code).toBe(201)
    const options = { windowsOptions: { hostProcess: true, runAsUserName: 'NT AUTHORITY\\SYSTEM' } }
    const host = {
      ...bare,
      spec: { ...bare.spec, hostNetwork: true, securityContext: { ...options, runAsNonRoot: true } },
    }
    for (const level of ['baseline', 'restricted'] as const) {
      const { code, text } = await asDev({ ask: `POST ${pods(level)}?dryRun=All`, body: host })
      expect(code).toBe(403)
      expect(text).toContain('hostProcess (pod must not set securityContext.windowsOptions.hostProcess=true)')
    }
  })
})

describe('a debug container', () => {
  const rows = LEVELS.flatMap((upTo) =>
    Object.entries(ASKED[upTo])
      .filter(([what, parts]) => parts.container && !parts.spec && !/probe|hook|hostPort/.test(what))
      .map(([what, parts]) => [what, upTo, parts] as const),
  )
  beforeAll(async () => {
    for (const level of LEVELS) await cluster.make(pods(level), podWith({}, 'containers', 'debugged'))
  })

  test.each(rows)('with %s is allowed up to %s', async (_, upTo, parts) => {
    const spec = { ephemeralContainers: [container('debug', parts.container)] }
    for (const level of LEVELS) {
      const ask = `PATCH ${pods(level)}/debugged/ephemeralcontainers?dryRun=All`
      const { code, text } = await asDev({ ask, body: { spec } })
      expect(`${level} ${code} ${text}`).toMatch(new RegExp(`^${level} ${isAllowed(level, upTo) ? 200 : 403} `))
      if (code === 403) expect(text).toContain(refusal(level))
    }
  })
})

describe('the ways to a pod that is refused', () => {
  const bad = podWith(securityContext({ privileged: true, allowPrivilegeEscalation: true }))
  const shown = podWith({ annotations: { 'sampan.dev/host-path': '/' } })
  test.each<[way: string, request: (level: Level) => Request]>([
    ['POST', (level) => ({ ask: `POST ${pods(level)}`, body: bad })],
    [
      'POST with a generated name',
      (level) => ({ ask: `POST ${pods(level)}`, body: { ...bad, metadata: { generateName: 'x-' } } }),
    ],
    ['POST that is a dry run', (level) => ({ ask: `POST ${pods(level)}?dryRun=All`, body: bad })],
    ['POST of the annotation', (level) => ({ ask: `POST ${pods(level)}`, body: shown })],
    ['apply', (level) => ({ ask: `PATCH ${pods(level)}/p?fieldManager=m`, body: bad, headers: APPLY })],
    [
      'apply of the annotation',
      (level) => ({ ask: `PATCH ${pods(level)}/p?fieldManager=m`, body: shown, headers: APPLY }),
    ],
    [
      'apply by force',
      (level) => ({ ask: `PATCH ${pods(level)}/p?fieldManager=m&force=true`, body: bad, headers: APPLY }),
    ],
  ])('%s', async (_, request) => {
    for (const level of ['baseline', 'restricted'] as const) {
      const { code, text } = await asDev(request(level))
      expect(code).toBe(403)
      expect(text).toContain(refusal(level))
      expect((await asDev({ ask: `GET ${pods(level)}/p` })).code).toBe(404)
    }
  })

  test('are closed to the controllers too', async () => {
    const { code, text } = await cluster.send(CONTROLLER, { ask: `POST ${pods('baseline')}`, body: bad })
    expect(code).toBe(403)
    expect(text).toContain(refusal('baseline'))
  })
})

describe('a pod that is there', () => {
  const place = (sub = '') => `${pods('restricted')}/there${sub}`
  beforeAll(async () => {
    await cluster.make(pods('restricted'), podWith({}, 'containers', 'there'))
  })
  const privileged = { securityContext: { ...SAFE, privileged: true, allowPrivilegeEscalation: true } }
  const debug = { spec: { ephemeralContainers: [{ name: 'debug', image: 'i', ...privileged }] } }
  const annotations = { metadata: { annotations: { 'sampan.dev/host-path': '/' } } }
  const adding = [{ op: 'add', path: '/metadata/annotations', value: annotations.metadata.annotations }]
  const target = { apiVersion: 'v1', kind: 'Node', name: 'n' }
  const applied = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'there', ...annotations.metadata } }

  test.each<[what: string, code: number, request: Request]>([
    ['a privileged debug container', 403, { ask: `PATCH ${place('/ephemeralcontainers')}`, body: debug }],
    [
      'the same as a strategic patch',
      403,
      { ask: `PATCH ${place('/ephemeralcontainers')}`, body: debug, headers: STRATEGIC },
    ],
    ['the same as a dry run', 403, { ask: `PATCH ${place('/ephemeralcontainers')}?dryRun=All`, body: debug }],
    ['the same by the pod itself', 422, { ask: `PATCH ${place()}`, body: debug }],
    ['the annotation', 422, { ask: `PATCH ${place()}`, body: annotations }],
    ['the annotation by JSON patch', 422, { ask: `PATCH ${place()}`, body: adding, headers: JSON_PATCH }],
    ['the annotation by a strategic patch', 422, { ask: `PATCH ${place()}`, body: annotations, headers: STRATEGIC }],
    [
      'the annotation by apply',
      422,
      { ask: `PATCH ${place()}?fieldManager=m&force=true`, body: applied, headers: APPLY },
    ],
    ['the annotation by its status', 422, { ask: `PATCH ${place('/status')}`, body: annotations }],
    ['the annotation by a binding', 422, { ask: `POST ${place('/binding')}`, body: { ...annotations, target } }],
    [
      'the annotation by the older binding',
      422,
      {
        ask: `POST /api/v1/namespaces/${namespaceOf('restricted')}/bindings`,
        body: { metadata: { name: 'there', ...annotations.metadata }, target },
      },
    ],
    ['host namespaces', 422, { ask: `PATCH ${place()}`, body: { spec: { hostPID: true } } }],
    [
      'another security context',
      422,
      { ask: `PATCH ${place()}`, body: { spec: { securityContext: { runAsUser: 0 } } } },
    ],
  ])('does not get %s', async (_, code, request) => {
    const answer = await asDev(request)
    expect(`${answer.code} ${answer.text}`).toMatch(new RegExp(`^${code} `))
    const { text } = await asDev({ ask: `GET ${place()}` })
    expect(text).not.toContain('host-path')
    expect(text).not.toContain('"privileged":true')
    expect(text).not.toContain('"nodeName"')
  })

  test.each(['/resize', '/status', '/ephemeralcontainers'])(
    'keeps its spec and annotations when asked at %s',
    async (sub) => {
      const spec = {
        containers: [{ ...container('changed'), image: 'other', ...privileged }],
        hostPID: true,
        hostNetwork: true,
      }
      await asDev({ ask: `PATCH ${place(sub)}`, body: { spec }, headers: STRATEGIC })
      const { text } = await asDev({ ask: `GET ${place()}` })
      expect(text).not.toMatch(/"privileged":true|hostPID|hostNetwork|"image":"other"/)
    },
  )

  test('from before its namespace became strict keeps running, and gets neither another image nor a debug container', async () => {
    const old = podWith(securityContext({ privileged: true, allowPrivilegeEscalation: true }), 'containers', 'old')
    const name = 'became-strict'
    await cluster.make('/api/v1/namespaces', { metadata: { name } })
    await cluster.grant('dev', [{ apiGroups: [''], resources: ['*'], verbs: EVERYTHING }], name)
    await cluster.make(`/api/v1/namespaces/${name}/pods`, old)
    const body = { metadata: { labels: enforce('restricted') } }
    const { warnings } = await cluster.send('admin', { ask: `PATCH /api/v1/namespaces/${name}`, body })
    expect(warnings).toContain('old: privileged')
    const at = `/api/v1/namespaces/${name}/pods/old`
    const image = { spec: { containers: [{ name: 'changed', image: 'other' }] } }
    expect((await asDev({ ask: `PATCH ${at}`, body: image, headers: STRATEGIC })).code).toBe(403)
    const safeDebug = { spec: { ephemeralContainers: [container('debug')] } }
    expect((await asDev({ ask: `PATCH ${at}/ephemeralcontainers`, body: safeDebug })).code).toBe(403)
    expect((await asDev({ ask: `PATCH ${at}`, body: { metadata: { labels: { a: 'b' } } } })).code).toBe(200)
  })
})

describe('what makes pods', () => {
  const template = {
    metadata: { labels: { a: 'b' }, annotations: { 'sampan.dev/host-path': '/' } },
    spec: {
      restartPolicy: 'Always',
      containers: [container('c', { securityContext: { privileged: true, allowPrivilegeEscalation: true } })],
    },
  }
  const selector = { matchLabels: { a: 'b' } }
  const once = { ...template, spec: { ...template.spec, restartPolicy: 'Never' } }
  test.each<[path: string, body: Fields]>([
    ['/apis/apps/v1 deployments', { spec: { selector, template } }],
    ['/apis/apps/v1 replicasets', { spec: { selector, template } }],
    ['/apis/apps/v1 daemonsets', { spec: { selector, template } }],
    ['/apis/apps/v1 statefulsets', { spec: { selector, template, serviceName: 's' } }],
    ['/api/v1 replicationcontrollers', { spec: { selector: { a: 'b' }, template } }],
    ['/api/v1 podtemplates', { template }],
    ['/apis/batch/v1 jobs', { spec: { template: once } }],
    ['/apis/batch/v1 cronjobs', { spec: { schedule: '@daily', jobTemplate: { spec: { template: once } } } }],
  ])('%s is not refused, and the user who writes it is warned', async (path, body) => {
    const [group, plural] = path.split(' ')
    const object = { metadata: { name: 'w' }, ...body }
    for (const level of ['baseline', 'restricted'] as const) {
      // Pods are enforced; templates are checked for the levels to warn and audit by, which follow `enforce`.
      const ask = `POST ${group}/namespaces/${namespaceOf(level)}/${plural}?dryRun=All`
      const { code, warnings, text } = await asDev({ ask, body: object })
      expect(`${code} ${text}`).toMatch(/^201 /)
      expect(warnings).toContain(`would violate PodSecurity \\"${level}:latest\\"`)
      expect(warnings).toContain('annotation \\"sampan.dev/host-path\\"')
    }
  })
})

describe('the labels of the namespace', () => {
  const namespace = `/api/v1/namespaces/${namespaceOf('restricted')}`
  const labels = { metadata: { labels: enforce('privileged') } }
  test.each<Request>([
    { ask: `PATCH ${namespace}`, body: labels },
    { ask: `PUT ${namespace}`, body: { metadata: { name: namespaceOf('restricted') } } },
    { ask: `PATCH ${namespace}/status`, body: labels },
    { ask: `PUT ${namespace}/finalize`, body: { metadata: { name: namespaceOf('restricted') } } },
    {
      ask: `PATCH ${namespace}?fieldManager=m&force=true`,
      body: { apiVersion: 'v1', kind: 'Namespace', ...labels },
      headers: APPLY,
    },
    { ask: `DELETE ${namespace}` },
  ])('are not changed by who has all rights inside: $ask', async (request) => {
    expect((await asDev(request)).code).toBe(403)
    const { text } = await cluster.send('admin', { ask: `GET ${namespace}` })
    expect(text).toContain('"pod-security.kubernetes.io/enforce":"restricted"')
  })
})
