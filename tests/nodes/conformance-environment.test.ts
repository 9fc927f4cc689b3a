/** What surrounds a program in a pod: its variables, arguments, names and resolvers. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Container, EnvVar, PodSpec } from '../../src/api/generated/core-v1.ts'
import { asRoot } from '../linux/as-root.ts'
import { ConformanceNode, configMap, IMAGE, isReady, pod, secret, sh, statusOf } from './conformance-node.ts'

interface Row {
  readonly name: string
  readonly container: Partial<Container>
  readonly spec?: Partial<PodSpec>
  /** Each is a whole line of the log. */
  readonly lines?: readonly string[]
  readonly matches?: readonly RegExp[]
}

const field = (name: string, fieldPath: string): EnvVar => ({ name, valueFrom: { fieldRef: { fieldPath } } })
const resource = (name: string, of: string): EnvVar => ({ name, valueFrom: { resourceFieldRef: { resource: of } } })
const ENV = { command: ['env'] }

const ROWS: Row[] = [
  {
    name: 'from-config-map-key',
    container: {
      ...ENV,
      env: [{ name: 'COLOR', valueFrom: { configMapKeyRef: { name: 'settings', key: 'color' } } }],
    },
    lines: ['COLOR=red'],
  },
  {
    name: 'from-secret-key',
    container: { ...ENV, env: [{ name: 'COLOR', valueFrom: { secretKeyRef: { name: 'settings', key: 'color' } } }] },
    lines: ['COLOR=red'],
  },
  {
    name: 'from-objects',
    container: {
      ...ENV,
      envFrom: [
        { configMapRef: { name: 'settings' } },
        { prefix: 'p-', configMapRef: { name: 'settings' } },
        { prefix: 's_', secretRef: { name: 'settings' } },
        { secretRef: { name: 'none', optional: true } },
      ],
    },
    lines: ['color=red', 'odd.name=yes', 'p-color=red', 's_color=red'],
  },
  {
    name: 'fields',
    container: {
      ...ENV,
      env: [
        field('POD_NAME', 'metadata.name'),
        field('POD_NAMESPACE', 'metadata.namespace'),
        field('POD_UID', 'metadata.uid'),
        field('POD_IP', 'status.podIP'),
        field('POD_IPS', 'status.podIPs'),
        field('HOST_IP', 'status.hostIP'),
        field('HOST_IPS', 'status.hostIPs'),
        field('NODE_NAME', 'spec.nodeName'),
        field('ACCOUNT', 'spec.serviceAccountName'),
        field('LABEL', "metadata.labels['color']"),
      ],
    },
    lines: ['POD_NAME=fields', 'POD_NAMESPACE=default', 'NODE_NAME=node-1', 'ACCOUNT=default', 'LABEL=red'],
    matches: [
      /^POD_UID=[0-9a-f]{8}-[0-9a-f-]{27}$/m,
      /^POD_IPS?=10\.244\.\d+\.\d+$/m,
      /^HOST_IP=172\.30\.0\.2$/m,
      /^HOST_IPS=172\.30\.0\.2$/m,
    ],
  },
  {
    name: 'resources',
    container: {
      ...ENV,
      resources: { requests: { cpu: '250m', memory: '32Mi' }, limits: { cpu: '1250m', memory: '64Mi' } },
      env: [
        resource('CPU_LIMIT', 'limits.cpu'),
        resource('MEMORY_LIMIT', 'limits.memory'),
        resource('CPU_REQUEST', 'requests.cpu'),
        resource('MEMORY_REQUEST', 'requests.memory'),
      ],
    },
    lines: ['CPU_LIMIT=2', 'MEMORY_LIMIT=67108864', 'CPU_REQUEST=1', 'MEMORY_REQUEST=33554432'],
  },
  {
    name: 'resources-of-the-node',
    container: { ...ENV, env: [resource('CPU_LIMIT', 'limits.cpu'), resource('MEMORY_LIMIT', 'limits.memory')] },
    matches: [/^CPU_LIMIT=[1-9]\d*$/m, /^MEMORY_LIMIT=[1-9]\d{8,}$/m],
  },
  {
    name: 'composed',
    container: {
      ...ENV,
      env: [
        { name: 'FOO', value: 'foo-value' },
        { name: 'BAR', value: 'bar-value' },
        { name: 'FOOBAR', value: '$(FOO);;$(BAR)' },
        { name: 'ESCAPED', value: '$$(FOO)' },
        { name: 'UNKNOWN', value: '$(NOBODY)' },
      ],
    },
    lines: ['FOOBAR=foo-value;;bar-value', 'ESCAPED=$(FOO)', 'UNKNOWN=$(NOBODY)'],
  },
  {
    name: 'in-command',
    container: { command: ['sh', '-c', 'echo command-$(WORD)'], env: [{ name: 'WORD', value: 'value' }] },
    lines: ['command-value'],
  },
  {
    name: 'in-arguments',
    container: {
      command: ['sh', '-c'],
      args: ['echo argument-$(WORD)'],
      env: [{ name: 'WORD', value: 'value' }],
    },
    lines: ['argument-value'],
  },
  {
    name: 'in-a-sub-path',
    container: {
      command: ['sh', '-c', 'echo text > /part/file; cat /whole/in-a-sub-path/file'],
      env: [field('POD_NAME', 'metadata.name')],
      volumeMounts: [
        { name: 'v', mountPath: '/part', subPathExpr: '$(POD_NAME)' },
        { name: 'v', mountPath: '/whole' },
      ],
    },
    spec: { volumes: [{ name: 'v', emptyDir: {} }] },
    lines: ['text'],
  },
  {
    name: 'from-a-file',
    container: {
      ...ENV,
      env: [
        { name: 'COLOR', valueFrom: { fileKeyRef: { volumeName: 'v', path: 'of.env', key: 'COLOR' } } },
        { name: 'NONE', valueFrom: { fileKeyRef: { volumeName: 'v', path: 'no.env', key: 'X', optional: true } } },
      ],
    },
    spec: {
      volumes: [{ name: 'v', emptyDir: {} }],
      initContainers: [
        sh(`echo "COLOR='red'" > /v/of.env`, { name: 'writer', volumeMounts: [{ name: 'v', mountPath: '/v' }] }),
      ],
    },
    lines: ['COLOR=red'],
    matches: [/^(?![\s\S]*^NONE=)/m],
  },
  {
    name: 'services',
    container: ENV,
    lines: ['DOOR_SERVICE_PORT=8765', 'DOOR_SERVICE_PORT_WEB=8765', 'DOOR_PORT_8765_TCP_PORT=8765'],
    matches: [
      /^DOOR_SERVICE_HOST=10\.96\.\d+\.\d+$/m,
      /^DOOR_PORT=tcp:\/\/10\.96\.\d+\.\d+:8765$/m,
      /^DOOR_PORT_8765_TCP=tcp:\/\/10\.96\.\d+\.\d+:8765$/m,
      /^DOOR_PORT_8765_TCP_PROTO=tcp$/m,
      /^DOOR_PORT_8765_TCP_ADDR=10\.96\.\d+\.\d+$/m,
      /^KUBERNETES_SERVICE_HOST=10\.96\.0\.1$/m,
    ],
  },
  {
    name: 'no-services',
    container: ENV,
    spec: { enableServiceLinks: false },
    matches: [/^KUBERNETES_SERVICE_HOST=/m, /^(?![\s\S]*^DOOR_)/m],
  },
  {
    name: 'aliases',
    container: { command: ['cat', '/etc/hosts'] },
    spec: { hostAliases: [{ ip: '123.45.67.89', hostnames: ['foo', 'bar'] }] },
    matches: [
      /^# Kubernetes-managed hosts file\.$/m,
      /^10\.244\.\d+\.\d+\taliases$/m,
      /^# Entries added by HostAliases\.\n123\.45\.67\.89\tfoo\tbar$/m,
    ],
  },
  {
    name: 'own-hosts-file',
    container: {
      command: ['cat', '/etc/hosts'],
      volumeMounts: [{ name: 'v', mountPath: '/etc/hosts', subPath: 'color' }],
    },
    spec: { volumes: [{ name: 'v', configMap: { name: 'settings' } }] },
    matches: [/^red$/],
  },
  {
    name: 'hosts-of-the-node',
    container: { command: ['cat', '/etc/hosts'] },
    spec: { hostNetwork: true },
    matches: [/^(?!# Kubernetes-managed hosts file\.)/],
  },
  {
    name: 'named-as-the-node',
    container: {
      command: ['sh', '-c', 'hostname; cat /etc/hostname; echo $HOSTNAME $NODE'],
      env: [field('NODE', 'spec.nodeName')],
    },
    spec: { hostNetwork: true },
    matches: [/^(\S+)\n\1\n\1 \1\n$/],
  },
  {
    name: 'named',
    container: { command: ['sh', '-c', 'hostname; hostname -f; cat /etc/hosts'] },
    spec: { hostname: 'me', subdomain: 'here' },
    lines: ['me', 'me.here.default.svc.cluster.local'],
    matches: [/^10\.244\.\d+\.\d+\tme\.here\.default\.svc\.cluster\.local\tme$/m],
  },
  {
    name: 'resolver',
    container: { command: ['cat', '/etc/resolv.conf'] },
    lines: ['nameserver 10.96.0.10', 'options ndots:5'],
    matches: [/^search default\.svc\.cluster\.local svc\.cluster\.local cluster\.local/m],
  },
  {
    name: 'own-resolver',
    container: { command: ['cat', '/etc/resolv.conf'] },
    spec: {
      dnsPolicy: 'None',
      dnsConfig: { nameservers: ['1.1.1.1'], searches: ['resolv.conf.local'], options: [{ name: 'edns0' }] },
    },
    matches: [/^search resolv\.conf\.local\nnameserver 1\.1\.1\.1\noptions edns0\n$/],
  },
]

const podOf = ({ name, container, spec }: Row) =>
  pod(name, { name: 'main', image: IMAGE, ...container }, spec, { labels: { color: 'red' } })

/** A volume's part by a variable that comes from an annotation. */
const SUB_PATHS = [
  { name: 'good-sub-path', annotations: { folder: 'here' } },
  { name: 'absolute-sub-path', annotations: { folder: '/tmp' } },
  { name: 'outer-sub-path', annotations: { folder: '..' } },
  { name: 'later-sub-path', annotations: { other: 'here' } },
]
const subPathPod = ({ name, annotations }: (typeof SUB_PATHS)[number]) =>
  pod(
    name,
    sh('sleep 1000', {
      env: [field('FOLDER', "metadata.annotations['folder']")],
      volumeMounts: [
        { name: 'v', mountPath: '/part', subPathExpr: '$(FOLDER)' },
        { name: 'v', mountPath: '/whole' },
      ],
    }),
    { volumes: [{ name: 'v', emptyDir: {} }] },
    { annotations },
  )

asRoot('what surrounds a program', () => {
  let node: ConformanceNode
  beforeAll(async () => {
    node = await ConformanceNode.up()
    const ports = [{ name: 'web', port: 8765, targetPort: 8080 }]
    await node.apply(
      { apiVersion: 'v1', kind: 'Service', metadata: { name: 'door' }, spec: { ports, selector: { app: 'door' } } },
      configMap('settings', { color: 'red', 'odd.name': 'yes' }),
      secret('settings', { color: 'red' }),
    )
    await node.apply(...ROWS.map(podOf), ...SUB_PATHS.map(subPathPod))
    await node.ended(ROWS.map(({ name }) => name))
  }, 180_000)
  afterAll(() => node?.[Symbol.asyncDispose](), 120_000)

  test.each(ROWS)('$name', ({ name, lines = [], matches = [] }) => {
    const text = node.log(name)
    for (const line of lines) expect(text.split('\n')).toContain(line)
    for (const pattern of matches) expect(text).toMatch(pattern)
  })

  test('what is written to a part is in the volume', async () => {
    await node.until('good-sub-path', isReady)
    expect(await node.exec('good-sub-path', 'sh', '-c', 'echo x > /part/file; cat /whole/here/file')).toBe('x\n')
  })

  test.each(['absolute-sub-path', 'outer-sub-path'])('%s is refused', async (name) => {
    const failed = await node.until(name, (one) => statusOf(one).state?.waiting?.reason?.includes('Error') === true)
    expect(statusOf(failed).state?.waiting?.reason).toBe('CreateContainerConfigError')
  })

  test('a part that cannot be named yet may be named later', async () => {
    const failed = await node.until('later-sub-path', (one) => statusOf(one).state?.waiting?.message !== undefined)
    expect(statusOf(failed).state?.waiting?.reason).toBe('CreateContainerConfigError')
    await node.kubectl('annotate', 'pod', 'later-sub-path', 'folder=there')
    await node.until('later-sub-path', isReady)
    expect(await node.exec('later-sub-path', 'ls', '/whole')).toBe('there\n')
  })
})
