/** Files that pods see: ConfigMaps, Secrets, the pod's own fields, scratch folders, and parts of them. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { PodSpec, Volume, VolumeMount } from '../../src/api/generated/core-v1.ts'
import { systemClock } from '../../src/base/clock.ts'
import { loadCertificates } from '../../src/cluster/certificates.ts'
import { asRoot } from '../linux/as-root.ts'
import { ConformanceNode, configMap, pod, secret, sh } from './conformance-node.ts'

interface Row {
  readonly name: string
  readonly volumes: Volume[]
  readonly mounts?: VolumeMount[]
  readonly script: string
  readonly wrote: string | RegExp
  readonly spec?: Partial<PodSpec>
  readonly resources?: object
}

const NOBODY = { runAsUser: 1000 }
const NOBODY_IN_GROUP = { runAsUser: 1000, fsGroup: 1001 }
const LIMITS = { requests: { cpu: '250m', memory: '32Mi' }, limits: { cpu: '1250m', memory: '64Mi' } }

/** A volume of one object, alone and as a part of a projected volume. */
function bothWays(
  name: string,
  source: 'configMap' | 'secret',
  fields: object,
  row: Omit<Row, 'name' | 'volumes'>,
): Row[] {
  const { defaultMode, ...rest } = { defaultMode: undefined, ...fields }
  const mode = defaultMode === undefined ? {} : { defaultMode }
  const alone = { ...mode, ...rest, ...(source === 'secret' ? { secretName: 'settings' } : { name: 'settings' }) }
  const projected = { ...mode, sources: [{ [source]: { ...rest, name: 'settings' } }] }
  const word = source.toLowerCase()
  return [
    { ...row, name: `${word}-${name}`, volumes: [{ name: 'v', [source]: alone } as Volume] },
    { ...row, name: `projected-${word}-${name}`, volumes: [{ name: 'v', projected } as Volume] },
  ]
}

function objectRows(source: 'configMap' | 'secret'): Row[] {
  const renamed = [{ key: 'color', path: 'deep/er/colour' }]
  const renamedWithMode = [{ key: 'color', path: 'deep/er/colour', mode: 0o400 }]
  return [
    ...bothWays('plain', source, {}, { script: 'cat /v/color; stat -L -c %a /v/color', wrote: 'red644' }),
    ...bothWays('user', source, {}, { script: 'cat /v/color', wrote: 'red', spec: { securityContext: NOBODY } }),
    ...bothWays('mode', source, { defaultMode: 0o400 }, { script: 'stat -L -c %a /v/color', wrote: '400' }),
    ...bothWays(
      'group',
      source,
      { defaultMode: 0o440 },
      {
        script: 'cat /v/color; stat -L -c %a:%g /v/color',
        wrote: 'red440:1001',
        spec: { securityContext: NOBODY_IN_GROUP },
      },
    ),
    ...bothWays('mapped', source, { items: renamed }, { script: 'cat /v/deep/er/colour; ls /v', wrote: 'reddeep' }),
    ...bothWays(
      'mapped-user',
      source,
      { items: renamed },
      { script: 'cat /v/deep/er/colour', wrote: 'red', spec: { securityContext: NOBODY } },
    ),
    ...bothWays(
      'mapped-mode',
      source,
      { items: renamedWithMode },
      { script: 'cat /v/deep/er/colour; stat -L -c %a /v/deep/er/colour', wrote: 'red400' },
    ),
    ...bothWays('read-only', source, {}, { script: 'echo x > /v/color || echo refused', wrote: /refused/ }),
  ].map((row) => ({ ...row }))
}

function twice(source: object): Row {
  const volumes = ['one', 'two'].map((name) => ({ name, ...source }) as Volume)
  const mounts = ['one', 'two'].map((name) => ({ name, mountPath: `/${name}` }))
  const word = Object.keys(source)[0]!.toLowerCase()
  return { name: `twice-${word}`, volumes, mounts, script: 'cat /one/color /two/color', wrote: 'redred' }
}

const field = (fieldPath: string) => ({ fieldRef: { fieldPath } })
const resource = (name: string, divisor?: string) => ({
  resourceFieldRef: { containerName: 'main', resource: name, ...(divisor && { divisor }) },
})

function downwardRows(): Row[] {
  const rows: [
    name: string,
    item: object,
    script: string,
    wrote: string | RegExp,
    fields?: object,
    resources?: object,
  ][] = [
    ['podname', field('metadata.name'), 'cat /v/it', /^(projected-)?downward-podname$/],
    ['mode', field('metadata.name'), 'stat -L -c %a /v/it', '400', { defaultMode: 0o400 }],
    ['item-mode', { ...field('metadata.name'), mode: 0o400 }, 'stat -L -c %a /v/it', '400'],
    ['cpu-limit', resource('limits.cpu'), 'cat /v/it', '2', {}, LIMITS],
    ['memory-limit', resource('limits.memory'), 'cat /v/it', '67108864', {}, LIMITS],
    ['cpu-request', resource('requests.cpu', '1m'), 'cat /v/it', '250', {}, LIMITS],
    ['memory-request', resource('requests.memory', '1Mi'), 'cat /v/it', '32', {}, LIMITS],
    ['cpu-default', resource('limits.cpu'), 'cat /v/it', /^[1-9]\d*$/],
    ['memory-default', resource('limits.memory'), 'cat /v/it', /^[1-9]\d{8,}$/],
  ]
  return rows.flatMap(([name, item, script, wrote, fields = {}, resources]) => {
    const items = [{ path: 'it', ...item }]
    const common = { script, wrote, ...(resources && { resources }) }
    return [
      { ...common, name: `downward-${name}`, volumes: [{ name: 'v', downwardAPI: { ...fields, items } } as Volume] },
      {
        ...common,
        name: `projected-downward-${name}`,
        volumes: [{ name: 'v', projected: { ...fields, sources: [{ downwardAPI: { items } }] } } as Volume],
      },
    ]
  })
}

function emptyDirRows(): Row[] {
  return ['', 'Memory'].flatMap((medium) => {
    const volumes: Volume[] = [{ name: 'v', emptyDir: { medium } }]
    const word = medium === '' ? 'disk' : 'memory'
    const type = medium === '' ? /^(?!tmpfs).+:777$/ : 'tmpfs:777'
    const modes = ['644', '666', '777'].flatMap((mode) =>
      [0, 1000].map((user) => ({
        name: `empty-${word}-${mode}-${user}`,
        volumes,
        script: `echo text > /v/f; chmod ${mode} /v/f; cat /v/f; stat -c %a:%u /v/f`,
        wrote: `text${mode}:${user}`,
        spec: { securityContext: { runAsUser: user } },
      })),
    )
    return [
      { name: `empty-${word}`, volumes, script: 'echo $(stat -f -c %T /v):$(stat -c %a /v)', wrote: type },
      ...modes,
    ]
  })
}

const ALL: Volume = {
  name: 'v',
  projected: {
    sources: [
      { configMap: { name: 'settings', items: [{ key: 'color', path: 'config' }] } },
      { secret: { name: 'settings', items: [{ key: 'color', path: 'secret' }] } },
      { downwardAPI: { items: [{ path: 'name', ...field('metadata.name') }] } },
      { serviceAccountToken: { path: 'token', audience: 'somebody', expirationSeconds: 600 } },
    ],
  },
}

/** Off unless somebody turns them on. */
const TRUST_BUNDLES = ['--feature-gates', 'ClusterTrustBundle=true,ClusterTrustBundleProjection=true']

/** Of a name, and of the signer of the API server, whose bundle the cluster itself publishes. */
const TRUST: Volume = {
  name: 'v',
  projected: {
    sources: [
      { clusterTrustBundle: { name: 'ours', path: 'ours.pem' } },
      {
        clusterTrustBundle: {
          signerName: 'kubernetes.io/kube-apiserver-serving',
          path: 'server.pem',
          labelSelector: {},
        },
      },
      { configMap: { name: 'kube-root-ca.crt', items: [{ key: 'ca.crt', path: 'root.pem' }] } },
    ],
  },
}

const trustBundle = (name: string, text: string) => ({
  apiVersion: 'certificates.k8s.io/v1beta1',
  kind: 'ClusterTrustBundle',
  metadata: { name },
  spec: { trustBundle: text },
})

const OTHER_ROWS: Row[] = [
  {
    name: 'trust-bundles',
    volumes: [TRUST],
    script:
      'for f in ours server root; do tr -d "\\n" < /v/$f.pem > /tmp/$f; done; cmp /tmp/server /tmp/root; cmp -s /tmp/ours /tmp/root || echo others',
    wrote: 'others',
  },
  {
    name: 'all',
    volumes: [ALL],
    script: 'cat /v/config /v/secret /v/name; test -s /v/token && echo +',
    wrote: 'redredall+',
  },
  {
    name: 'binary',
    volumes: [{ name: 'v', configMap: { name: 'binary' } }],
    script: 'cat /v/text; od -An -tx1 /v/bytes | tr -d " "',
    wrote: 'textdeca00fefe',
  },
  {
    name: 'wrapped',
    volumes: [
      { name: 'v', secret: { secretName: 'settings' } },
      { name: 'w', configMap: { name: 'settings' } },
    ],
    mounts: [
      { name: 'v', mountPath: '/v' },
      { name: 'w', mountPath: '/w' },
    ],
    script: 'cat /v/color /w/color',
    wrote: 'redred',
  },
  {
    name: 'token-of-one-user',
    volumes: [{ name: 'v', projected: { sources: [{ serviceAccountToken: { path: 'token' } }] } }],
    script: 'test -s /v/token && stat -L -c %a:%u /v/token',
    wrote: '600:1000',
    spec: { securityContext: NOBODY },
  },
  {
    name: 'token-of-a-group',
    volumes: [{ name: 'v', projected: { sources: [{ serviceAccountToken: { path: 'token' } }] } }],
    script: 'test -s /v/token && stat -L -c %a:%g /v/token',
    wrote: '640:1001',
    spec: { securityContext: { fsGroup: 1001 } },
  },
]

function partRows(): Row[] {
  const sources: [string, Omit<Volume, 'name'>][] = [
    ['configmap', { configMap: { name: 'settings' } }],
    ['secret', { secret: { secretName: 'settings' } }],
    ['downward', { downwardAPI: { items: [{ path: 'color', ...field("metadata.annotations['color']") }] } }],
    ['projected', { projected: { sources: [{ configMap: { name: 'settings' } }] } }],
  ]
  const parts = sources.map(([word, source]) => ({
    name: `part-${word}`,
    volumes: [{ name: 'v', ...source }],
    mounts: [{ name: 'v', mountPath: '/part', subPath: 'color' }],
    script: 'cat /part',
    wrote: 'red',
  }))
  const overFile = {
    name: 'part-over-a-file',
    volumes: [{ name: 'v', configMap: { name: 'settings' } }],
    mounts: [{ name: 'v', mountPath: '/etc/nsswitch.conf', subPath: 'color' }],
    script: 'cat /etc/nsswitch.conf',
    wrote: 'red',
  }
  return [...parts, overFile]
}

const ROWS: Row[] = [
  ...objectRows('configMap'),
  ...objectRows('secret'),
  twice({ configMap: { name: 'settings' } }),
  twice({ secret: { secretName: 'settings' } }),
  twice({ projected: { sources: [{ configMap: { name: 'settings' } }] } }),
  ...downwardRows(),
  ...emptyDirRows(),
  ...OTHER_ROWS,
  ...partRows(),
]

const podOf = ({ name, volumes, mounts, script, spec, resources }: Row) =>
  pod(
    name,
    sh(script, { volumeMounts: mounts ?? [{ name: 'v', mountPath: '/v' }], ...(resources && { resources }) }),
    { ...spec, volumes },
    { annotations: { color: 'red' } },
  )

asRoot('files that pods see', () => {
  let node: ConformanceNode
  beforeAll(async () => {
    node = await ConformanceNode.up(...TRUST_BUNDLES)
    const { ca } = await loadCertificates({ clock: systemClock, serverNames: ['localhost'] })
    const binaryData = { bytes: Buffer.from('deca00fefe', 'hex').toString('base64') }
    await node.apply(
      configMap('settings', { color: 'red' }),
      secret('settings', { color: 'red' }),
      configMap('binary', { text: 'text' }, { binaryData }),
      trustBundle('ours', ca.cert),
      ...ROWS.map(podOf),
    )
    await node.ended(
      ROWS.map(({ name }) => name),
      240,
    )
  }, 300_000)
  afterAll(() => node?.[Symbol.asyncDispose](), 120_000)

  test.each(ROWS)('$name', ({ name, wrote }) => {
    const text = node.log(name).replaceAll('\n', '')
    if (typeof wrote === 'string') expect(text).toBe(wrote)
    else expect(text).toMatch(wrote)
  })
})
