import { describe, expect, test } from 'vitest'
import type { Container, Pod, PodSpec, Volume } from '../../../generated/core-v1.ts'
import { createdPod, texts, withContainer } from './pod.fixture.ts'
import { validatePod } from './validation.ts'

type Row<T> = [what: string, change: T, ...errors: string[]]

const LABEL =
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
const MODE = 'must be a number between 0 and 0777 (octal), both inclusive'

const check = (spec: Partial<PodSpec>, metadata: Partial<Pod['metadata']> = {}) =>
  texts(validatePod(createdPod(spec, metadata)))

describe('a container', () => {
  const at = 'spec.containers[0]'
  test.each<Row<Partial<Container>>>([
    ['is fine', {}],
    ['needs a name', { name: '' }, `${at}.name: Required value`],
    ['needs a label as name', { name: 'A' }, `${at}.name: Invalid value: "A": ${LABEL}`],
    ['needs an image', { image: '' }, `${at}.image: Required value`],
    [
      'image without spaces',
      { image: 'a ' },
      `${at}.image: Invalid value: "a ": must not have leading or trailing whitespace`,
    ],
    ['pull policy', { imagePullPolicy: 'Never' }],
    [
      'unknown pull policy',
      { imagePullPolicy: 'X' },
      `${at}.imagePullPolicy: Unsupported value: "X": supported values: "Always", "IfNotPresent", "Never"`,
    ],
    [
      'message policy',
      { terminationMessagePolicy: 'X' },
      `${at}.terminationMessagePolicy: Unsupported value: "X": supported values: "File", "FallbackToLogsOnError"`,
    ],
    [
      'ports',
      {
        ports: [
          { containerPort: 80, name: 'http', hostPort: 80 },
          { containerPort: 80, protocol: 'UDP', name: 'dns', hostPort: 80 },
        ],
      },
    ],
    ['port number missing', { ports: [{} as never] }, `${at}.ports[0].containerPort: Required value`],
    [
      'port number too big',
      { ports: [{ containerPort: 65536 }] },
      `${at}.ports[0].containerPort: Invalid value: 65536: must be between 1 and 65535, inclusive`,
    ],
    [
      'host port too big',
      { ports: [{ containerPort: 1, hostPort: 65536 }] },
      `${at}.ports[0].hostPort: Invalid value: 65536: must be between 1 and 65535, inclusive`,
    ],
    [
      'protocol',
      { ports: [{ containerPort: 1, protocol: 'tcp' }] },
      `${at}.ports[0].protocol: Unsupported value: "tcp": supported values: "SCTP", "TCP", "UDP"`,
    ],
    [
      'port name twice',
      {
        ports: [
          { containerPort: 1, name: 'a' },
          { containerPort: 2, name: 'a' },
        ],
      },
      `${at}.ports[1].name: Duplicate value: "a"`,
    ],
    [
      'host port twice',
      {
        ports: [
          { containerPort: 1, hostPort: 8 },
          { containerPort: 2, hostPort: 8 },
        ],
      },
      `${at}.ports[1].hostPort: Duplicate value: "TCP//8"`,
    ],
    ['resize policy', { resizePolicy: [{ resourceName: 'cpu', restartPolicy: 'NotRequired' }] }],
    [
      'resize of others',
      { resizePolicy: [{ resourceName: 'disk', restartPolicy: 'NotRequired' }] },
      `${at}.resizePolicy: Unsupported value: "disk": supported values: "cpu", "memory"`,
    ],
    [
      'restart rules without policy',
      { restartPolicyRules: [{ action: 'Restart', exitCodes: { operator: 'In', values: [1] } }] },
      `${at}.restartPolicy: Required value: must specify restartPolicy when restart rules are used`,
    ],
    [
      'restart rule without codes',
      { restartPolicy: 'Never', restartPolicyRules: [{ action: 'X' }] },
      `${at}.restartPolicyRules[0].action: Unsupported value: "X": supported values: "Restart", "RestartAllContainers"`,
      `${at}.restartPolicyRules[0].exitCodes: Required value: must be specified`,
    ],
  ])('%s', (_what, container, ...errors) => {
    expect(check(withContainer(container))).toEqual(errors)
  })
})

describe('environment', () => {
  const at = 'spec.containers[0]'
  const from = (valueFrom: NonNullable<Container['env']>[number]['valueFrom']): Partial<Container> => ({
    env: [{ name: 'A', valueFrom }],
  })
  test.each<Row<Partial<Container>>>([
    ['value', { env: [{ name: 'A.b-c', value: '1' }] }],
    ['no name', { env: [{ name: '' }] }, `${at}.env[0].name: Required value`],
    [
      'bad name',
      { env: [{ name: 'a=b' }] },
      `${at}.env[0].name: Invalid value: "a=b": a valid environment variable name must consist only of printable ASCII characters other than '='`,
    ],
    ['field', from({ fieldRef: { fieldPath: 'status.podIP' } })],
    ['label of the pod', from({ fieldRef: { fieldPath: "metadata.labels['app']" } })],
    [
      'unknown field',
      from({ fieldRef: { fieldPath: 'spec.foo' } }),
      `${at}.env[0].valueFrom.fieldRef.fieldPath: Invalid value: "spec.foo": error converting fieldPath: field label not supported: spec.foo`,
    ],
    [
      'field that cannot be used',
      from({ fieldRef: { fieldPath: 'status.phase' } }),
      `${at}.env[0].valueFrom.fieldRef.fieldPath: Unsupported value: "status.phase": supported values: "metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName", "spec.serviceAccountName", "status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs"`,
    ],
    ['resource', from({ resourceFieldRef: { resource: 'limits.cpu', divisor: '1m' } })],
    [
      'unknown resource',
      from({ resourceFieldRef: { resource: 'cpu' } }),
      `${at}.env[0].valueFrom.resourceFieldRef.resource: Unsupported value: "cpu": supported values: "limits.cpu", "limits.ephemeral-storage", "limits.memory", "requests.cpu", "requests.ephemeral-storage", "requests.memory"`,
    ],
    [
      'divisor',
      from({ resourceFieldRef: { resource: 'limits.cpu', divisor: '2' } }),
      `${at}.env[0].valueFrom.resourceFieldRef.divisor: Invalid value: "limits.cpu": only divisor's values 1m and 1 are supported with the cpu resource`,
    ],
    ['key', from({ configMapKeyRef: { name: 'c', key: 'k.v' } })],
    [
      'no key',
      from({ secretKeyRef: { name: 's', key: '' } }),
      `${at}.env[0].valueFrom.secretKeyRef.key: Required value`,
    ],
    [
      'nothing',
      from({}),
      `${at}.env[0].valueFrom: Invalid value: "": must specify one of: \`fieldRef\`, \`resourceFieldRef\`, \`configMapKeyRef\`, \`secretKeyRef\` or \`fileKeyRef\``,
    ],
    [
      'two sources',
      from({ configMapKeyRef: { name: 'c', key: 'k' }, secretKeyRef: { name: 's', key: 'k' } }),
      `${at}.env[0].valueFrom: Invalid value: "": may not have more than one field specified at a time`,
    ],
    [
      'value and source',
      { env: [{ name: 'A', value: '1', valueFrom: { secretKeyRef: { name: 's', key: 'k' } } }] },
      `${at}.env[0].valueFrom: Invalid value: "": may not be specified when \`value\` is not empty`,
    ],
    ['envFrom', { envFrom: [{ prefix: 'P_', configMapRef: { name: 'c' } }] }],
    [
      'envFrom nothing',
      { envFrom: [{}] },
      `${at}.envFrom: Invalid value: "": must specify one of: \`configMapRef\` or \`secretRef\``,
    ],
    ['envFrom no name', { envFrom: [{ secretRef: {} }] }, `${at}.envFrom[0].secretRef.name: Required value`],
    [
      'file of another volume',
      from({ fileKeyRef: { key: 'K', path: 'x', volumeName: 'v' } }),
      `${at}.env[0].valueFrom.fileKeyRef.volumeName: Not found: "v"`,
    ],
  ])('%s', (_what, container, ...errors) => {
    expect(check(withContainer(container))).toEqual(errors)
  })
})

describe('probes and hooks', () => {
  const at = 'spec.containers[0]'
  test.each<Row<Partial<Container>>>([
    [
      'all handlers',
      {
        livenessProbe: { exec: { command: ['x'] } },
        readinessProbe: { tcpSocket: { port: 'http' } },
        startupProbe: { grpc: { port: 1 } },
      },
    ],
    ['no handler', { readinessProbe: {} }, `${at}.readinessProbe: Required value: must specify a handler type`],
    [
      'two handlers',
      { readinessProbe: { exec: { command: ['x'] }, tcpSocket: { port: 1 } } },
      `${at}.readinessProbe.tcpSocket: Forbidden: may not specify more than 1 handler type`,
    ],
    ['empty command', { livenessProbe: { exec: { command: [] } } }, `${at}.livenessProbe.exec.command: Required value`],
    [
      'port name',
      { livenessProbe: { httpGet: { port: 'Not_A_Port' } } },
      `${at}.livenessProbe.httpGet.port: Invalid value: "Not_A_Port": must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)`,
    ],
    [
      'port missing',
      { livenessProbe: { httpGet: {} as never } },
      `${at}.livenessProbe.httpGet.port: Invalid value: 0: must be between 1 and 65535, inclusive`,
    ],
    [
      'scheme',
      { livenessProbe: { httpGet: { port: 1, scheme: 'ftp' } } },
      `${at}.livenessProbe.httpGet.scheme: Unsupported value: "ftp": supported values: "HTTP", "HTTPS"`,
    ],
    [
      'success threshold',
      { livenessProbe: { tcpSocket: { port: 1 }, successThreshold: 2 } },
      `${at}.livenessProbe.successThreshold: Invalid value: 2: must be 1`,
    ],
    [
      'negative period',
      { readinessProbe: { tcpSocket: { port: 1 }, periodSeconds: -1 } },
      `${at}.readinessProbe.periodSeconds: Invalid value: -1: must be greater than or equal to 0`,
    ],
    [
      'grace of readiness',
      { readinessProbe: { tcpSocket: { port: 1 }, terminationGracePeriodSeconds: 5 } },
      `${at}.readinessProbe.terminationGracePeriodSeconds: Invalid value: 5: must not be set for readinessProbes`,
    ],
    [
      'grace of liveness',
      { livenessProbe: { tcpSocket: { port: 1 }, terminationGracePeriodSeconds: 0 } },
      `${at}.livenessProbe.terminationGracePeriodSeconds: Invalid value: 0: must be greater than 0`,
    ],
    ['sleep', { lifecycle: { preStop: { sleep: { seconds: 5 } } } }],
    [
      'sleep too long',
      { lifecycle: { preStop: { sleep: { seconds: 31 } } } },
      `${at}.lifecycle.preStop.sleep: Invalid value: 31: must be non-negative and less than terminationGracePeriodSeconds (30)`,
    ],
  ])('%s', (_what, container, ...errors) => {
    expect(check(withContainer(container))).toEqual(errors)
  })
})

describe('volumes', () => {
  const at = 'spec.volumes[0]'
  const volume = (source: Omit<Volume, 'name'>): Volume => ({ name: 'v', ...source })
  test.each<Row<Volume[]>>([
    ['no name', [{ name: '', emptyDir: {} }], `${at}.name: Required value`],
    ['bad name', [{ name: 'A', emptyDir: {} }], `${at}.name: Invalid value: "A": ${LABEL}`],
    ['name twice', [volume({ emptyDir: {} }), volume({ emptyDir: {} })], 'spec.volumes[1].name: Duplicate value: "v"'],
    [
      'two kinds',
      [volume({ emptyDir: {}, hostPath: { path: '/' } })],
      `${at}.hostPath: Forbidden: may not specify more than 1 volume type`,
    ],
    [
      'size limit',
      [volume({ emptyDir: { sizeLimit: '-1Gi' } })],
      `${at}.emptyDir.sizeLimit: Forbidden: SizeLimit field must be a valid resource quantity`,
    ],
    ['host path', [volume({ hostPath: { path: '/a', type: 'Directory' } })]],
    [
      'host path steps up',
      [volume({ hostPath: { path: '/a/../b' } })],
      `${at}.hostPath.path: Invalid value: "/a/../b": must not contain '..'`,
    ],
    [
      'host path type',
      [volume({ hostPath: { path: '/a', type: 'Dir' } })],
      `${at}.hostPath.type: Unsupported value: "Dir": supported values: "", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket"`,
    ],
    ['secret', [volume({ secret: { secretName: 's', items: [{ key: 'k', path: 'a/b', mode: 256 }] } })]],
    ['secret without name', [volume({ secret: {} })], `${at}.secret.secretName: Required value`],
    [
      'mode',
      [volume({ secret: { secretName: 's', defaultMode: 512 } })],
      `${at}.secret.defaultMode: Invalid value: 512: ${MODE}`,
    ],
    [
      'absolute item',
      [volume({ configMap: { name: 'c', items: [{ key: 'k', path: '/a' }] } })],
      `${at}.configMap.items[0].path: Invalid value: "/a": must be a relative path`,
    ],
    [
      'reserved item',
      [volume({ configMap: { name: 'c', items: [{ key: 'k', path: '..a' }] } })],
      `${at}.configMap.items[0].path: Invalid value: "..a": must not start with '..'`,
    ],
    ['claim', [volume({ persistentVolumeClaim: { claimName: 'c' } })]],
    [
      'claim without name',
      [volume({ persistentVolumeClaim: { claimName: '' } })],
      `${at}.persistentVolumeClaim.claimName: Required value`,
    ],
    ['downward', [volume({ downwardAPI: { items: [{ path: 'l', fieldRef: { fieldPath: 'metadata.labels' } }] } })]],
    [
      'downward nothing',
      [volume({ downwardAPI: { items: [{ path: 'l' }] } })],
      `${at}.downwardAPI: Required value: one of fieldRef and resourceFieldRef is required`,
    ],
    [
      'projected',
      [
        volume({
          projected: {
            sources: [{ configMap: { name: 'c', items: [{ key: 'k', path: 'p' }] } }, { secret: { name: 's' } }],
          },
        }),
      ],
    ],
    [
      'projected twice the same',
      [
        volume({
          projected: {
            sources: [
              { configMap: { name: 'c', items: [{ key: 'k', path: 'p' }] } },
              { secret: { name: 's', items: [{ key: 'k', path: 'p' }] } },
            ],
          },
        }),
      ],
      `${at}.projected: Invalid value: "s": conflicting duplicate paths`,
    ],
    [
      'token too short',
      [volume({ projected: { sources: [{ serviceAccountToken: { path: 't', expirationSeconds: 5 } }] } })],
      `${at}.projected.sources[0].serviceAccountToken.expirationSeconds: Invalid value: 5: may not specify a duration less than 10 minutes`,
    ],
    ['csi', [volume({ csi: { driver: 'csi.example.com' } })]],
    ['csi without driver', [volume({ csi: { driver: '' } })], `${at}.csi.driver: Required value`],
    [
      'ephemeral',
      [
        volume({
          ephemeral: {
            volumeClaimTemplate: {
              spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
            },
          },
        }),
      ],
    ],
    [
      'ephemeral empty',
      [volume({ ephemeral: { volumeClaimTemplate: { spec: {} } } })],
      `${at}.ephemeral.volumeClaimTemplate.spec.accessModes: Required value: at least 1 access mode is required`,
      `${at}.ephemeral.volumeClaimTemplate.spec.resources[storage]: Required value`,
    ],
    [
      'nfs',
      [volume({ nfs: { server: 's', path: 'rel' } })],
      `${at}.nfs.path: Invalid value: "rel": must be an absolute path`,
    ],
    ['iscsi', [volume({ iscsi: { targetPortal: 'p', iqn: 'iqn.2001-04.com.example:storage', lun: 1 } })]],
    [
      'iscsi name',
      [volume({ iscsi: { targetPortal: 'p', iqn: 'x', lun: 300 } })],
      `${at}.iscsi.iqn: Invalid value: "x": must be valid format starting with iqn, eui, or naa`,
      `${at}.iscsi.lun: Invalid value: 300: must be between 0 and 255, inclusive`,
    ],
    ['image', [volume({ image: {} })], `${at}.image.reference: Required value`],
  ])('%s', (_what, volumes, ...errors) => {
    expect(check({ volumes, serviceAccountName: 'me' })).toEqual(errors)
  })

  test('a token needs an account', () => {
    const volumes = [volume({ projected: { sources: [{ serviceAccountToken: { path: 't' } }] } })]
    expect(check({ volumes })).toEqual([
      `${at}.projected.sources[0].serviceAccountToken: Forbidden: must not be specified when serviceAccountName is not set`,
    ])
  })
})

describe('mounts', () => {
  const at = 'spec.containers[0]'
  const volumes: Volume[] = [
    { name: 'v', emptyDir: {} },
    { name: 'claim', persistentVolumeClaim: { claimName: 'c' } },
  ]
  test.each<Row<Partial<Container>>>([
    [
      'two',
      {
        volumeMounts: [
          { name: 'v', mountPath: '/a', subPath: 'x/y' },
          { name: 'v', mountPath: '/b', readOnly: true },
        ],
      },
    ],
    ['no volume', { volumeMounts: [{ name: 'w', mountPath: '/a' }] }, `${at}.volumeMounts[0].name: Not found: "w"`],
    ['no path', { volumeMounts: [{ name: 'v', mountPath: '' }] }, `${at}.volumeMounts[0].mountPath: Required value`],
    [
      'path twice',
      {
        volumeMounts: [
          { name: 'v', mountPath: '/a' },
          { name: 'claim', mountPath: '/a' },
        ],
      },
      `${at}.volumeMounts[1].mountPath: Invalid value: "/a": must be unique`,
    ],
    [
      'subPath',
      { volumeMounts: [{ name: 'v', mountPath: '/a', subPath: '../x' }] },
      `${at}.volumeMounts[0].subPath: Invalid value: "../x": must not contain '..'`,
    ],
    [
      'both subPaths',
      { volumeMounts: [{ name: 'v', mountPath: '/a', subPath: 'x', subPathExpr: 'y' }] },
      `${at}.volumeMounts[0].subPathExpr: Invalid value: "y": subPathExpr and subPath are mutually exclusive`,
    ],
    ['propagation', { volumeMounts: [{ name: 'v', mountPath: '/a', mountPropagation: 'HostToContainer' }] }],
    [
      'unknown propagation',
      { volumeMounts: [{ name: 'v', mountPath: '/a', mountPropagation: 'X' }] },
      `${at}.volumeMounts[0].mountPropagation: Unsupported value: "X": supported values: "Bidirectional", "HostToContainer", "None"`,
    ],
    [
      'both ways',
      { volumeMounts: [{ name: 'v', mountPath: '/a', mountPropagation: 'Bidirectional' }] },
      `${at}.volumeMounts[0].mountPropagation: Forbidden: Bidirectional mount propagation is available only to privileged containers`,
    ],
    [
      'recursive read-only',
      { volumeMounts: [{ name: 'v', mountPath: '/a', recursiveReadOnly: 'Enabled' }] },
      `${at}.volumeMounts[0].recursiveReadOnly: Forbidden: may only be specified when readOnly is true`,
    ],
    ['device', { volumeDevices: [{ name: 'claim', devicePath: '/dev/x' }] }],
    [
      'device of a directory',
      { volumeDevices: [{ name: 'v', devicePath: '/dev/x' }] },
      `${at}.volumeDevices[0].name: Invalid value: "v": can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode`,
    ],
    [
      'device and mount',
      { volumeMounts: [{ name: 'claim', mountPath: '/a' }], volumeDevices: [{ name: 'claim', devicePath: '/b' }] },
      `${at}.volumeMounts[0].name: Invalid value: "claim": must not already exist in volumeDevices`,
      `${at}.volumeDevices[0].name: Invalid value: "claim": must not already exist in volumeMounts`,
    ],
  ])('%s', (_what, container, ...errors) => {
    expect(check({ volumes, ...withContainer(container) })).toEqual(errors)
  })
})

describe('resources', () => {
  const at = 'spec.containers[0].resources'
  test.each<Row<NonNullable<Container['resources']>>>([
    ['usual', { requests: { cpu: '100m', memory: '64Mi' }, limits: { memory: '128Mi', 'ephemeral-storage': '1Gi' } }],
    ['extended', { requests: { 'example.com/gpu': '1' }, limits: { 'example.com/gpu': '1' } }],
    [
      'request over limit',
      { requests: { cpu: '2' }, limits: { cpu: '1' } },
      `${at}.requests: Invalid value: "2": must be less than or equal to cpu limit of 1`,
    ],
    [
      'negative',
      { requests: { cpu: '-1' } },
      `${at}.requests[cpu]: Invalid value: "-1": must be greater than or equal to 0`,
    ],
    [
      'no quantity',
      { requests: { cpu: 'much' } },
      `${at}.requests[cpu]: Invalid value: "much": quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'`,
    ],
    [
      'unknown',
      { requests: { foo: '1' } },
      `${at}.requests[foo]: Invalid value: "foo": must be a standard resource type or fully qualified`,
      `${at}.requests[foo]: Invalid value: "foo": must be a standard resource for containers`,
    ],
    [
      'part of a piece',
      { requests: { 'a.b/c': '500m' }, limits: { 'a.b/c': '500m' } },
      `${at}.limits[a.b/c]: Invalid value: "500m": must be an integer`,
      `${at}.requests[a.b/c]: Invalid value: "500m": must be an integer`,
    ],
    [
      'extended with no limit',
      { requests: { 'a.b/c': '1' } },
      `${at}.limits: Required value: Limit must be set for non overcommitable resources`,
    ],
    [
      'extended below limit',
      { requests: { 'a.b/c': '1' }, limits: { 'a.b/c': '2' } },
      `${at}.requests: Invalid value: "1": must be equal to a.b/c limit of 2`,
    ],
    ['huge pages', { limits: { 'hugepages-2Mi': '4Mi', cpu: '1' }, requests: { 'hugepages-2Mi': '4Mi' } }],
    ['huge pages alone', { limits: { 'hugepages-2Mi': '4Mi' } }, `${at}: Forbidden: HugePages require cpu or memory`],
    [
      'half a huge page',
      { limits: { 'hugepages-2Mi': '3Mi', cpu: '1' } },
      `${at}.limits[hugepages-2Mi]: Invalid value: "3Mi": 3Mi is not positive integer multiple of hugepages-2Mi`,
      `${at}.requests[hugepages-2Mi]: Invalid value: "3Mi": 3Mi is not positive integer multiple of hugepages-2Mi`,
    ],
    ['claim of no one', { claims: [{ name: 'c' }] }, `${at}.claims[0]: Not found: "c"`],
  ])('%s', (_what, resources, ...errors) => {
    expect(check(withContainer({ resources }))).toEqual(errors)
  })
})
