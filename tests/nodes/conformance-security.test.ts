/** As whom programs run in pods, and what they may do. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { PodSpec, SecurityContext } from '../../src/api/generated/core-v1.ts'
import { mapsOwners } from '../container-runtime/builtin-under-test.ts'
import { asRoot } from '../linux/as-root.ts'
import { ConformanceNode, pod, sh, statusOf } from './conformance-node.ts'

interface Row {
  readonly name: string
  readonly script: string
  readonly wrote: string | RegExp
  readonly own?: SecurityContext
  readonly shared?: PodSpec['securityContext']
  readonly spec?: Partial<PodSpec>
}

const ID = 'echo $(id -u):$(id -g)'
const CAPABILITIES = "sed -n 's/^CapEff:\\t//p' /proc/self/status"
/** The bits of chown, net_raw and sys_admin. */
const CHOWN = 0n
const NET_RAW = 13n
const SYS_ADMIN = 21n

const ROWS: Row[] = [
  { name: 'user', script: ID, wrote: '65534:65534', own: { runAsUser: 65534 } },
  { name: 'user-and-group', script: ID, wrote: '1001:2002', own: { runAsUser: 1001, runAsGroup: 2002 } },
  { name: 'user-and-group-of-pod', script: ID, wrote: '1001:2002', shared: { runAsUser: 1001, runAsGroup: 2002 } },
  { name: 'own-user-wins', script: ID, wrote: '1001:0', own: { runAsUser: 1001 }, shared: { runAsUser: 1002 } },
  {
    name: 'groups',
    script: 'id -G',
    wrote: '0 1234 5678',
    shared: { runAsUser: 1000, runAsGroup: 0, supplementalGroups: [1234], fsGroup: 5678 },
  },
  {
    name: 'read-only-root',
    script: '(echo x > /file) 2>/dev/null || echo refused',
    wrote: /refused$/,
    own: { readOnlyRootFilesystem: true },
  },
  {
    name: 'writable-root',
    script: 'echo x > /file && cat /file',
    wrote: 'x',
    own: { readOnlyRootFilesystem: false },
  },
  {
    name: 'not-privileged',
    script:
      'mount -t tmpfs none /tmp 2>/dev/null || echo refused; (echo 1 > /proc/sys/kernel/domainname) 2>/dev/null || echo locked',
    wrote: /^refused.*locked$/,
    own: { privileged: false },
  },
  {
    name: 'privileged',
    script: 'mount -t tmpfs none /tmp && echo mounted',
    wrote: 'mounted',
    own: { privileged: true },
  },
  {
    name: 'no-new-privileges',
    script: 'grep NoNewPrivs /proc/self/status | cut -f2',
    wrote: '1',
    own: { allowPrivilegeEscalation: false, runAsUser: 1000 },
  },
  {
    name: 'new-privileges',
    script: 'grep NoNewPrivs /proc/self/status | cut -f2',
    wrote: '0',
    own: { allowPrivilegeEscalation: true, runAsUser: 1000 },
  },
  {
    name: 'filtered',
    script: 'grep Seccomp: /proc/self/status | cut -f2',
    wrote: '2',
    shared: { seccompProfile: { type: 'RuntimeDefault' } },
  },
  {
    name: 'sysctls',
    script: 'cat /proc/sys/kernel/shm_rmid_forced /proc/sys/net/ipv4/ip_unprivileged_port_start',
    wrote: '180',
    shared: {
      sysctls: [
        { name: 'kernel.shm_rmid_forced', value: '1' },
        { name: 'net.ipv4.ip_unprivileged_port_start', value: '80' },
      ],
    },
  },
  {
    name: 'one-process-tree',
    script: 'ls -d /proc/[0-9]* | wc -l; cat /proc/1/comm',
    wrote: /^[3-9].*/,
    spec: { shareProcessNamespace: true },
  },
  { name: 'own-process-tree', script: 'echo $$$$', wrote: '1' },
]

/** Where the kernel and the file systems can do it. */
const ROWS_OF_OWN_USERS: Row[] = [
  {
    name: 'own-users',
    script: "awk '{ print ($2 > 65535), $3 }' /proc/self/uid_map; id -u; touch /new && stat -c %u /new /usr/bin/env",
    // Programs of the host image belong to no user of the pod.
    wrote: '1 655360065534',
    spec: { hostUsers: false },
  },
  {
    name: 'own-users-of-the-network',
    script:
      'node -e "require(\'net\').createServer().listen(80, () => process.exit())" && cat /proc/sys/kernel/shm_rmid_forced',
    wrote: '1',
    shared: { sysctls: [{ name: 'kernel.shm_rmid_forced', value: '1' }] },
    spec: { hostUsers: false },
  },
]
if (mapsOwners()) ROWS.push(...ROWS_OF_OWN_USERS)

const MOUNTED = ['disk', 'memory', 'token']
const OWN_USERS = pod(
  'own-users-of-volumes',
  sh('id -u; for v in /disk /memory; do echo x > $v/x; stat -c %u:%g $v/x; done; cat /token/namespace', {
    volumeMounts: MOUNTED.map((name) => ({ name, mountPath: `/${name}` })),
  }),
  {
    hostUsers: false,
    securityContext: { runAsUser: 1000, runAsGroup: 2000, fsGroup: 3000 },
    volumes: [
      { name: 'disk', emptyDir: {} },
      { name: 'memory', emptyDir: { medium: 'Memory' } },
      {
        name: 'token',
        projected: {
          sources: [{ downwardAPI: { items: [{ path: 'namespace', fieldRef: { fieldPath: 'metadata.namespace' } }] } }],
        },
      },
    ],
  },
)

const CAPABLE: { name: string; own: SecurityContext; has: bigint[]; lacks: bigint[] }[] = [
  { name: 'usual', own: {}, has: [CHOWN, NET_RAW], lacks: [SYS_ADMIN] },
  { name: 'none', own: { capabilities: { drop: ['ALL'] } }, has: [], lacks: [CHOWN, NET_RAW, SYS_ADMIN] },
  {
    name: 'one-more',
    own: { capabilities: { add: ['SYS_ADMIN'], drop: ['NET_RAW'] } },
    has: [CHOWN, SYS_ADMIN],
    lacks: [NET_RAW],
  },
  { name: 'all', own: { privileged: true }, has: [CHOWN, NET_RAW, SYS_ADMIN], lacks: [] },
]

asRoot('as whom programs run', () => {
  let node: ConformanceNode
  beforeAll(async () => {
    node = await ConformanceNode.up()
    await node.apply(
      ...ROWS.map(({ name, script, own = {}, shared, spec }) =>
        pod(name, sh(script, { securityContext: own }), { ...spec, ...(shared && { securityContext: shared }) }),
      ),
      ...CAPABLE.map(({ name, own }) => pod(`capable-${name}`, sh(CAPABILITIES, { securityContext: own }))),
      ...(mapsOwners() ? [OWN_USERS] : []),
      pod('root-refused', sh('true'), { securityContext: { runAsNonRoot: true } }),
    )
    await node.ended([
      ...(mapsOwners() ? [OWN_USERS.metadata.name] : []),
      ...ROWS.map(({ name }) => name),
      ...CAPABLE.map(({ name }) => `capable-${name}`),
    ])
  }, 180_000)
  afterAll(() => node?.[Symbol.asyncDispose](), 120_000)

  test.each(ROWS)('$name', ({ name, wrote }) => {
    const text = node.log(name).trim().replaceAll('\n', '')
    if (typeof wrote === 'string') expect(text).toBe(wrote)
    else expect(text).toMatch(wrote)
  })

  test.each(CAPABLE)('capabilities: $name', ({ name, has, lacks }) => {
    const mask = BigInt(`0x${node.log(`capable-${name}`).trim()}`)
    const holds = (bit: bigint) => ((mask >> bit) & 1n) === 1n
    expect(has.map(holds)).toEqual(has.map(() => true))
    expect(lacks.map(holds)).toEqual(lacks.map(() => false))
  })

  test.skipIf(!mapsOwners())('volumes of a pod with its own users belong to them', () => {
    expect(node.log(OWN_USERS.metadata.name)).toMatch(/^1000\n1000:3000\n1000:3000\ndefault\n?$/)
  })

  test('who must not be root is not started as root', async () => {
    const refused = await node.until('root-refused', (one) => statusOf(one).state?.waiting?.message !== undefined)
    expect(statusOf(refused).state?.waiting).toMatchObject({
      reason: 'CreateContainerConfigError',
      message: expect.stringContaining('container has runAsNonRoot and image will run as root'),
    })
  })

  test('an unsafe sysctl is refused by the node', async () => {
    await node.apply(
      pod('unsafe', sh('true'), { securityContext: { sysctls: [{ name: 'kernel.msgmax', value: '65536' }] } }),
    )
    const refused = await node.until('unsafe', (one) => one.status?.phase === 'Failed')
    expect(refused.status?.reason).toBe('SysctlForbidden')
  })
})
