/** Bodies of up to 3 MB that cost a careless server the most. */
export const MAX_BODY = 3 * 1024 * 1024 - 4096
/** The server refuses more values at once; the costliest bodies have just fewer. */
const MOST_VALUES = 99_000

/** How many values a JSON text has, counted as the server does. */
const valuesOf = (json: string) => json.replace(/"(?:[^"\\]|\\.)*"/g, '').match(/[,[{]/g)?.length ?? 0

interface FillOptions {
  /** Few enough for the server to begin with its work. True unless said otherwise. */
  readonly limited?: boolean
  readonly most?: number
  readonly separator?: string
}

/** As many items as fit between head and tail, into 3 MB and into the limits of the server. */
export function fill(head: string, item: (i: number) => string, tail: string, options: FillOptions = {}): string {
  const { limited = true, most = Number.POSITIVE_INFINITY, separator = ',' } = options
  const items: string[] = []
  let room = MAX_BODY - head.length - tail.length
  let values = limited ? MOST_VALUES - valuesOf(head + tail) : Number.POSITIVE_INFINITY
  // The entries of a large map count ten times.
  const each = valuesOf(item(0)) + (/^"[^"]*":/.test(item(0)) ? 10 : 1)
  for (let i = 0; ; i++) {
    const text = item(i)
    room -= text.length + separator.length
    values -= each
    if (room < 0 || values < 0 || i === most) return head + items.join(separator) + tail
    items.push(text)
  }
}

export const repeat = (text: string, room = MAX_BODY) => text.repeat(Math.floor(room / text.length))

const object = (apiVersion: string, kind: string, name: string, rest: string) =>
  `{"apiVersion":"${apiVersion}","kind":"${kind}","metadata":{"name":"${name}"}${rest && `,${rest}`}}`

/** An object whose JSON has `%` where items go. */
function around(apiVersion: string, kind: string, rest: string): [head: string, tail: string] {
  const [head, tail] = object(apiVersion, kind, 'hostile', rest).split('%') as [string, string]
  return [head, tail]
}

export interface HostileRequest {
  readonly title: string
  readonly method: 'POST' | 'PATCH' | 'PUT' | 'GET' | 'DELETE'
  readonly path: string
  readonly type?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: () => string | Buffer
}

const NAMESPACE = '/namespaces/hostile'
const at = (group: string, plural: string) => `${group === 'v1' ? '/api' : '/apis'}/${group}${NAMESPACE}/${plural}`

/** A list or map of a kind, filled: [group version, kind, plural, JSON around the items, an item]. */
type Filled = [apiVersion: string, kind: string, plural: string, rest: string, item: (i: number) => string]

const POD = (rest: string) => `"spec":{"containers":[{"name":"c","image":"a"${rest}}]}`

export const FILLED: readonly Filled[] = [
  ['v1', 'Pod', 'pods', '"spec":{"containers":[%]}', () => '{}'],
  ['v1', 'Pod', 'pods', '"spec":{"containers":[%]}', (i) => `{"name":"c${i}","image":"a"}`],
  ['v1', 'Pod', 'pods', '"spec":{"containers":[%]}', () => '{"name":"c","image":"a"}'],
  [
    'v1',
    'Pod',
    'pods',
    '"spec":{"initContainers":[%],"containers":[{"name":"c","image":"a"}]}',
    (i) => `{"name":"i${i}","image":"a"}`,
  ],
  ['v1', 'Pod', 'pods', POD(',"env":[%]'), (i) => `{"name":"E${i}","value":"$(E${i - 1})"}`],
  ['v1', 'Pod', 'pods', POD(',"env":[%]'), () => '{"name":"E","value":"v"}'],
  ['v1', 'Pod', 'pods', POD(',"ports":[%]'), (i) => `{"containerPort":${(i % 65535) + 1},"name":"p${i}"}`],
  ['v1', 'Pod', 'pods', POD(',"ports":[%]'), () => '{"containerPort":80}'],
  ['v1', 'Pod', 'pods', POD(',"args":[%]'), () => '"a"'],
  ['v1', 'Pod', 'pods', POD(',"volumeMounts":[%]'), (i) => `{"name":"v","mountPath":"/m${i}"}`],
  ['v1', 'Pod', 'pods', POD(',"resources":{"limits":{%}}'), (i) => `"example.com/r${i}":"${i}"`],
  [
    'v1',
    'Pod',
    'pods',
    '"spec":{"volumes":[%],"containers":[{"name":"c","image":"a"}]}',
    (i) => `{"name":"v${i}","emptyDir":{}}`,
  ],
  [
    'v1',
    'Pod',
    'pods',
    '"spec":{"tolerations":[%],"containers":[{"name":"c","image":"a"}]}',
    (i) => `{"key":"k${i}","operator":"Exists"}`,
  ],
  [
    'v1',
    'Pod',
    'pods',
    '"spec":{"hostAliases":[%],"containers":[{"name":"c","image":"a"}]}',
    (i) => `{"ip":"10.0.${i % 256}.1","hostnames":["a"]}`,
  ],
  [
    'v1',
    'Pod',
    'pods',
    '"spec":{"imagePullSecrets":[%],"containers":[{"name":"c","image":"a"}]}',
    (i) => `{"name":"s${i}"}`,
  ],
  [
    'v1',
    'Pod',
    'pods',
    '"spec":{"topologySpreadConstraints":[%],"containers":[{"name":"c","image":"a"}]}',
    (i) => `{"maxSkew":1,"topologyKey":"k${i}","whenUnsatisfiable":"DoNotSchedule","labelSelector":{}}`,
  ],
  [
    'apps/v1',
    'Deployment',
    'deployments',
    `"spec":{"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},${POD(',"env":[%]')}}}`,
    (i) => `{"name":"E${i}","value":"v"}`,
  ],
  [
    'apps/v1',
    'Deployment',
    'deployments',
    `"spec":{"selector":{"matchLabels":{%}},"template":{"metadata":{"labels":{"a":"b"}},${POD('')}}}`,
    (i) => `"l${i}":"v"`,
  ],
  ['v1', 'ConfigMap', 'configmaps', '"data":{%}', (i) => `"k${i}":""`],
  ['v1', 'ConfigMap', 'configmaps', '"data":{%}', (i) => `"k${i}":1`],
  ['v1', 'ConfigMap', 'configmaps', '"data":{%}', () => '"k":""'],
  ['v1', 'ConfigMap', 'configmaps', '"data":{%}', (i) => `"bad key ${i}":""`],
  ['v1', 'ConfigMap', 'configmaps', '%', (i) => `"unknown${i}":1`],
  ['v1', 'Secret', 'secrets', '"data":{%}', (i) => `"k${i}":"YQ=="`],
  ['v1', 'Secret', 'secrets', '"stringData":{%}', (i) => `"k${i}":"a"`],
  ['v1', 'Service', 'services', '"spec":{"ports":[%]}', (i) => `{"name":"p${i}","port":${(i % 65535) + 1}}`],
  [
    'v1',
    'Endpoints',
    'endpoints',
    '"subsets":[{"addresses":[%],"ports":[{"port":1}]}]',
    (i) => `{"ip":"10.${(i >> 16) & 255}.${(i >> 8) & 255}.${i & 255}"}`,
  ],
  ['v1', 'ResourceQuota', 'resourcequotas', '"spec":{"hard":{%}}', (i) => `"count/r${i}.example.com":"${i}"`],
  ['v1', 'LimitRange', 'limitranges', '"spec":{"limits":[%]}', () => '{"type":"Container","max":{"cpu":"1"}}'],
  [
    'discovery.k8s.io/v1',
    'EndpointSlice',
    'endpointslices',
    '"addressType":"IPv4","endpoints":[%]',
    (i) => `{"addresses":["10.${(i >> 16) & 255}.${(i >> 8) & 255}.${i & 255}"]}`,
  ],
  [
    'rbac.authorization.k8s.io/v1',
    'Role',
    'roles',
    '"rules":[%]',
    (i) => `{"apiGroups":[""],"resources":["r${i}"],"verbs":["get"]}`,
  ],
  [
    'rbac.authorization.k8s.io/v1',
    'Role',
    'roles',
    '"rules":[{"apiGroups":[""],"resources":["pods"],"verbs":[%]}]',
    (i) => `"v${i}"`,
  ],
  [
    'networking.k8s.io/v1',
    'NetworkPolicy',
    'networkpolicies',
    '"spec":{"podSelector":{},"ingress":[{"from":[%]}]}',
    (i) => `{"ipBlock":{"cidr":"10.${(i >> 8) & 255}.${i & 255}.0/24"}}`,
  ],
  [
    'networking.k8s.io/v1',
    'NetworkPolicy',
    'networkpolicies',
    '"spec":{"podSelector":{"matchExpressions":[%]}}',
    (i) => `{"key":"k${i}","operator":"Exists"}`,
  ],
  ['networking.k8s.io/v1', 'Ingress', 'ingresses', '"spec":{"rules":[%]}', (i) => `{"host":"h${i}.example.com"}`],
  [
    'batch/v1',
    'Job',
    'jobs',
    `"spec":{"template":{"spec":{"restartPolicy":"Never","tolerations":[%],"containers":[{"name":"c","image":"a"}]}}}`,
    (i) => `{"key":"k${i}","operator":"Exists"}`,
  ],
  [
    'policy/v1',
    'PodDisruptionBudget',
    'poddisruptionbudgets',
    '"spec":{"selector":{"matchExpressions":[%]}}',
    (i) => `{"key":"k${i}","operator":"In","values":["a"]}`,
  ],
  [
    'autoscaling/v2',
    'HorizontalPodAutoscaler',
    'horizontalpodautoscalers',
    '"spec":{"maxReplicas":1,"scaleTargetRef":{"kind":"Deployment","name":"a"},"metrics":[%]}',
    () => '{"type":"Resource","resource":{"name":"cpu","target":{"type":"Utilization","averageUtilization":1}}}',
  ],
  ['example.com/v1', 'Widget', 'widgets', '"spec":{"map":[%]}', (i) => `{"name":"n${i}"}`],
  ['example.com/v1', 'Widget', 'widgets', '"spec":{"set":[%]}', (i) => `"n${i}"`],
  ['example.com/v1', 'Widget', 'widgets', '"spec":{"texts":[%]}', () => `"${'a'.repeat(29)}"`],
  ['example.com/v1', 'Widget', 'widgets', '"spec":{"numbers":[%]}', () => '1'],
  ['example.com/v1', 'Widget', 'widgets', '"spec":{"any":{%}}', (i) => `"k${i}":{}`],
]

const filledRequest = (
  [apiVersion, kind, plural, rest, item]: Filled,
  options: FillOptions = {},
  query = '',
): HostileRequest => {
  const [head, tail] = around(apiVersion, kind, rest)
  return {
    title: `${kind} with ${rest.replace(/^.*?("\w+":[[{])%.*$/s, '$1')}${item(1)},…${JSON.stringify(options)}${query}`,
    method: 'POST',
    path: at(apiVersion, plural) + query,
    body: () => fill(head, item, tail, options),
  }
}
const metadataRequest = (rest: string, item: (i: number) => string): HostileRequest => {
  const [head, tail] = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"hostile",${rest}}}`.split('%') as [
    string,
    string,
  ]
  return {
    title: `metadata with ${rest.replace('%', item(1))}`,
    method: 'POST',
    path: at('v1', 'configmaps'),
    body: () => fill(head, item, tail),
  }
}

const post = (title: string, plural: string, body: () => string | Buffer, type?: string): HostileRequest => ({
  title,
  method: 'POST',
  path: at('v1', plural),
  ...(type && { type }),
  body,
})
const patch = (title: string, type: string, body: () => string | Buffer, query = ''): HostileRequest => ({
  title,
  method: 'PATCH',
  path: `${at('v1', 'configmaps')}/victim${query}`,
  type,
  body,
})
const configMap = (rest: string) => object('v1', 'ConfigMap', 'hostile', rest)
const YAML = 'application/yaml'
const yamlMap = 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: hostile}\n'

const SYNTAX: readonly HostileRequest[] = [
  post('JSON: [ without end', 'configmaps', () => repeat('[')),
  post('JSON: nested objects', 'configmaps', () => `${repeat('{"a":', MAX_BODY / 2)}1${repeat('}', MAX_BODY / 10)}`),
  post('JSON: objects nested a thousand deep', 'configmaps', () =>
    configMap(`"data":${'{"a":'.repeat(990)}${fill('{', (i) => `"k${i}":1`, '}').slice(0, -9000)}}${'}'.repeat(990)}`),
  ),
  post('JSON: empty lists', 'configmaps', () => `[${repeat('[],')}[]]`),
  post('JSON: a string that does not end', 'configmaps', () => `"${repeat('a')}`),
  post('JSON: escapes', 'configmaps', () => configMap(`"data":{"a":"${repeat('\\u0001', MAX_BODY - 200)}"}`)),
  post('JSON: halves of surrogate pairs', 'configmaps', () =>
    configMap(`"data":{"a":"${repeat('\\ud800', MAX_BODY - 200)}"}`),
  ),
  post('JSON: white space', 'configmaps', () => `${repeat(' ')}{`),
  post('JSON: a number of three megabytes', 'configmaps', () =>
    configMap(`"data":{"a":1${repeat('0', MAX_BODY - 200)}}`),
  ),
  post('JSON: keys that come twice, deep down', 'configmaps', () =>
    configMap(`"data":${'{"a":'.repeat(900)}${fill('{', () => '"k":1', '}').slice(0, -9001)}}${'}'.repeat(900)}`),
  ),
  post('a value of three megabytes', 'configmaps', () => configMap(`"data":{"a":"${repeat('a', MAX_BODY - 200)}"}`)),
  post('a value of one megabyte', 'configmaps', () => configMap(`"data":{"a":"${repeat('a', 1024 * 1024)}"}`)),
  post('a name of three megabytes', 'configmaps', () => `{"metadata":{"name":"${repeat('a', MAX_BODY - 200)}"}}`),
  post('a name of dots', 'configmaps', () => `{"metadata":{"name":"${repeat('a.', MAX_BODY - 200)}!"}}`),
  post(
    'a label of three megabytes',
    'configmaps',
    () => `{"metadata":{"name":"a","labels":{"${repeat('a-', MAX_BODY - 200)}":"b"}}}`,
  ),
  post('an image of three megabytes', 'pods', () =>
    object('v1', 'Pod', 'hostile', `"spec":{"containers":[{"name":"c","image":"${repeat('a@', MAX_BODY - 200)}"}]}`),
  ),
  post('a quantity of three megabytes', 'pods', () =>
    object('v1', 'Pod', 'hostile', POD(`,"resources":{"limits":{"cpu":"${repeat('1', MAX_BODY - 300)}x"}}`)),
  ),
  post('quantities of a kilobyte', 'pods', () =>
    object(
      'v1',
      'Pod',
      'hostile',
      POD(
        `,"resources":{"limits":{${fill('', (i) => `"r${i}":"1.${'0'.repeat(1000 - String(i).length)}${i}1"`, '').slice(0, -400)}"}}`,
      ),
    ),
  ),
  post(
    'a time of three megabytes',
    'configmaps',
    () => `{"metadata":{"name":"a","creationTimestamp":"2026-01-01T00:00:00.${repeat('0', MAX_BODY - 200)}"}}`,
  ),
  {
    title: 'a schedule of three megabytes',
    method: 'POST',
    path: at('batch/v1', 'cronjobs'),
    body: () =>
      object(
        'batch/v1',
        'CronJob',
        'hostile',
        `"spec":{"schedule":"${repeat('*,', MAX_BODY - 400)} * * * *","jobTemplate":{"spec":{"template":{"spec":{"containers":[{"name":"c","image":"a"}]}}}}}`,
      ),
  },
  {
    title: 'an interval of three megabytes',
    method: 'POST',
    path: at('batch/v1', 'cronjobs'),
    body: () =>
      object(
        'batch/v1',
        'CronJob',
        'hostile',
        `"spec":{"schedule":"@every ${repeat('1', MAX_BODY - 400)}","jobTemplate":{"spec":{"template":{"spec":{"containers":[{"name":"c","image":"a"}]}}}}}`,
      ),
  },
  post('a Secret of base64 with line breaks', 'secrets', () =>
    object('v1', 'Secret', 'hostile', `"data":{"a":"${repeat('\\n', MAX_BODY - 200)}!"}`),
  ),
  post(
    'YAML: keys',
    'configmaps',
    () => fill(`${yamlMap}data:\n`, (i) => ` k${i}: v`, '\n', { limited: false, separator: '\n' }),
    YAML,
  ),
  post('YAML: equal keys', 'configmaps', () => `${yamlMap}data:\n${repeat(' k: v\n', MAX_BODY - 200)}`, YAML),
  post('YAML: items', 'configmaps', () => repeat('- a\n'), YAML),
  post('YAML: flow sequences', 'configmaps', () => repeat('['), YAML),
  post('YAML: flow items', 'configmaps', () => `[${repeat('a,')}]`, YAML),
  post('YAML: nested sequences', 'configmaps', () => repeat('- '), YAML),
  post('YAML: comments', 'configmaps', () => `${repeat('#\n', MAX_BODY - 200)}${yamlMap}`, YAML),
  post('YAML: documents', 'configmaps', () => repeat('---\na: 1\n'), YAML),
  post('YAML: a literal', 'configmaps', () => `${yamlMap}data:\n a: |\n${repeat('  x\n', 1024 * 1024)}`, YAML),
  post(
    'YAML: a folded text',
    'configmaps',
    () => `${yamlMap}data:\n a: >\n${repeat('   x\n  y\n', MAX_BODY - 200)}`,
    YAML,
  ),
  post('YAML: a quoted text', 'configmaps', () => `${yamlMap}data:\n a: "${repeat('b\\n', MAX_BODY - 200)}"`, YAML),
  post(
    'YAML: anchors and aliases',
    'configmaps',
    () => fill('', (i) => `- &a${i} b\n- *a${i}`, '', { limited: false, separator: '\n' }),
    YAML,
  ),
  post(
    'YAML: a bomb of aliases',
    'configmaps',
    () => `a: &a "${repeat('x', MAX_BODY / 2)}"\nb: [${'*a,'.repeat(90)}]`,
    YAML,
  ),
  post('YAML: brackets that close nothing', 'configmaps', () => repeat(']'), YAML),
  post(
    'protobuf: entries of a map',
    'configmaps',
    () =>
      protobuf(
        'ConfigMap',
        repeatBytes(field(2, Buffer.concat([field(1, Buffer.from('k')), field(2, Buffer.alloc(0))]))),
      ),
    'application/vnd.kubernetes.protobuf',
  ),
  post(
    'protobuf: containers',
    'pods',
    () => protobuf('Pod', field(2, repeatBytes(field(2, field(1, Buffer.from('c')))))),
    'application/vnd.kubernetes.protobuf',
  ),
  post(
    'protobuf: unknown fields',
    'pods',
    () => protobuf('Pod', repeatBytes(Buffer.from([0x78, 0]))),
    'application/vnd.kubernetes.protobuf',
  ),
  post(
    'protobuf: a text of three megabytes',
    'configmaps',
    () =>
      protobuf(
        'ConfigMap',
        field(2, Buffer.concat([field(1, Buffer.from('k')), field(2, Buffer.alloc(MAX_BODY - 100, 'a'))])),
      ),
    'application/vnd.kubernetes.protobuf',
  ),
  patch(
    'JSON patch: ten thousand items before all others',
    'application/json-patch+json',
    () =>
      `[${'{"op":"add","path":"/metadata/finalizers/0","value":"example.com/a"},'.repeat(9_999)}{"op":"test","path":"/kind","value":"ConfigMap"}]`,
  ),
  patch(
    'JSON patch: copies of copies',
    'application/json-patch+json',
    () => `[${Array.from({ length: 60 }, (_, i) => `{"op":"copy","from":"/data","path":"/data/c${i}"}`).join(',')}]`,
  ),
  patch(
    'JSON patch: too many operations',
    'application/json-patch+json',
    () => `[${repeat('{"op":"test","path":"/kind","value":"a"},', MAX_BODY - 50)}{}]`,
  ),
  patch('JSON patch: deep paths', 'application/json-patch+json', () =>
    fill('[', () => `{"op":"test","path":"${'/a'.repeat(900)}","value":1}`, ']'),
  ),
  patch('merge patch: keys', 'application/merge-patch+json', () => fill('{"data":{', (i) => `"k${i}":""`, '}}')),
  patch('strategic merge patch: keys', 'application/strategic-merge-patch+json', () =>
    fill('{"data":{', (i) => `"k${i}":""`, '}}'),
  ),
  patch('strategic merge patch: owner references', 'application/strategic-merge-patch+json', () =>
    fill('{"metadata":{"ownerReferences":[', (i) => `{"uid":"${i}","kind":"A","name":"a","apiVersion":"v1"}`, ']}}'),
  ),
  patch(
    'apply: keys',
    'application/apply-patch+yaml',
    () =>
      fill('{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"victim"},"data":{', (i) => `"k${i}":""`, '}}'),
    '?fieldManager=hostile&force=true',
  ),
  patch(
    'apply: YAML',
    'application/apply-patch+yaml',
    () =>
      fill('apiVersion: v1\nkind: ConfigMap\nmetadata: {name: victim}\ndata:\n', (i) => ` k${i}: v`, '\n', {
        limited: false,
        separator: '\n',
      }),
    '?fieldManager=hostile&force=true',
  ),
]

const METADATA: readonly HostileRequest[] = [
  metadataRequest('"labels":{%}', (i) => `"l${i}":"v"`),
  metadataRequest('"annotations":{%}', (i) => `"l${i}":"v"`),
  metadataRequest('"finalizers":[%]', (i) => `"example.com/f${i}"`),
  metadataRequest(
    '"ownerReferences":[%]',
    (i) => `{"apiVersion":"v1","kind":"A","name":"a","uid":"${i}","controller":true}`,
  ),
  metadataRequest(
    '"managedFields":[%]',
    (i) =>
      `{"manager":"m${i}","operation":"Apply","apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{"f:data":{"f:k${i}":{}}}}`,
  ),
  metadataRequest(
    '"managedFields":[{"manager":"m","operation":"Update","apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{"f:data":{%}}}]',
    (i) => `"f:k${i}":{}`,
  ),
]

const REVIEWS: readonly HostileRequest[] = [
  {
    title: 'a SelfSubjectAccessReview with extra values',
    method: 'POST',
    path: '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews',
    body: () =>
      `{"spec":{"resourceAttributes":{"verb":"get","resource":"pods","fieldSelector":{"requirements":${fill('[', (i) => `{"key":"k${i}","operator":"In","values":["a"]}`, ']')}}}}`,
  },
  {
    title: 'a TokenRequest with audiences',
    method: 'POST',
    path: `${at('v1', 'serviceaccounts')}/default/token`,
    body: () => fill('{"spec":{"audiences":[', (i) => `"a${i}"`, ']}}'),
  },
  {
    title: 'DeleteOptions that are a list',
    method: 'DELETE',
    path: `${at('v1', 'configmaps')}/none`,
    body: () => `[${repeat('{},')}{}]`,
  },
  {
    title: 'a Binding with labels',
    method: 'POST',
    path: `${at('v1', 'pods')}/none/binding`,
    body: () => fill('{"metadata":{"name":"none","labels":{', (i) => `"l${i}":"v"`, '}},"target":{"name":"n"}}'),
  },
]

const HEADS: readonly HostileRequest[] = [
  {
    title: 'a label selector with many values',
    method: 'GET',
    path: `${at('v1', 'configmaps')}?labelSelector=a%20in%20(${'x,'.repeat(60_000)}y)`,
  },
  {
    title: 'a label selector with many requirements',
    method: 'GET',
    path: `${at('v1', 'configmaps')}?labelSelector=${Array.from({ length: 20_000 }, (_, i) => `l${i}`).join(',')}`,
  },
  {
    title: 'a field selector with many requirements',
    method: 'GET',
    path: `${at('v1', 'configmaps')}?fieldSelector=${'metadata.name!=a,'.repeat(5_000)}metadata.name!=b`,
  },
  {
    title: 'a long continue token',
    method: 'GET',
    path: `${at('v1', 'configmaps')}?limit=1&continue=${'a'.repeat(120_000)}`,
  },
  { title: 'a long query', method: 'GET', path: `${at('v1', 'configmaps')}?${'a=b&'.repeat(30_000)}` },
  { title: 'a long path', method: 'GET', path: `${at('v1', 'configmaps')}/${'a/'.repeat(60_000)}` },
  { title: 'a long timeout', method: 'GET', path: `${at('v1', 'configmaps')}?timeout=${'1'.repeat(120_000)}` },
  {
    title: 'a long Accept header',
    method: 'GET',
    path: at('v1', 'configmaps'),
    headers: { accept: 'a/b;q=1,'.repeat(12_000) },
  },
  { title: 'an encoded path', method: 'GET', path: `${at('v1', 'configmaps')}/${'%61'.repeat(40_000)}` },
]

/** What an ordinary user of the namespace `hostile` may send. */
export const HOSTILE_REQUESTS: readonly HostileRequest[] = [
  ...FILLED.map((filled) => filledRequest(filled)),
  ...FILLED.filter(([, , , , item]) => item(0).startsWith('{')).map((filled) => filledRequest(filled, { most: 9_999 })),
  ...FILLED.filter((_, i) => i % 6 === 0).map((filled) => filledRequest(filled, { limited: false })),
  ...FILLED.filter((_, i) => i % 4 === 0).map((filled) =>
    filledRequest(filled, { most: 9_999 }, '?dryRun=All&fieldValidation=Strict'),
  ),
  ...METADATA,
  ...SYNTAX,
  ...REVIEWS,
  ...HEADS,
]

/** What needs rights on the whole cluster. */
export const HOSTILE_ADMIN_REQUESTS: readonly HostileRequest[] = [
  definition('many properties', () => fill('"properties":{', (i) => `"p${i}":{"type":"string"}`, '}')),
  definition(
    'nested properties',
    () => `"properties":${'{"p":{"type":"object","properties":'.repeat(400)}{}${'}}'.repeat(400)}`,
  ),
  definition(
    'a long enumeration',
    () => `"properties":{"p":{"type":"string",${fill('"enum":[', (i) => `"v${i}"`, ']')}}}`,
  ),
  definition('patterns', () =>
    fill('"properties":{', (i) => `"p${i}":{"type":"string","pattern":"^(a|b${i}){1,9}$"}`, '}'),
  ),
  definition(
    'a pattern of one megabyte',
    () => `"properties":{"p":{"type":"string","pattern":"${repeat('(a?', 500_000)}${repeat(')', 500_000 / 3)}"}}`,
  ),
  definition(
    'rules',
    () =>
      `"properties":{"p":{"type":"string"}},${fill('"x-kubernetes-validations":[', (i) => `{"rule":"self.p != 'a${i}'"}`, ']')}`,
  ),
  definition(
    'a rule of one megabyte',
    () => `"properties":{"p":{"type":"string"}},"x-kubernetes-validations":[{"rule":"${repeat('(', 1_000_000)}"}]`,
  ),
  definition(
    'defaults',
    () =>
      `"properties":{"p":{"type":"object","x-kubernetes-preserve-unknown-fields":true,"default":${fill('{', (i) => `"k${i}":1`, '}')}}}`,
  ),
  policy('many validations', () =>
    fill('"validations":[', (i) => `{"expression":"object.metadata.name != 'a${i}'"}`, ']'),
  ),
  policy('a long expression', () => `"validations":[{"expression":"${repeat('true || ', 2_000_000)}true"}]`),
  policy('a deep expression', () => `"validations":[{"expression":"${repeat('!', 1_000_000)}true"}]`),
  policy('a comment of two megabytes', () => `"validations":[{"expression":"true // ${repeat('a', 2_000_000)}"}]`),
  policy('white space', () => `"validations":[{"expression":"${repeat(' ', 2_000_000)}true"}]`),
  {
    title: 'a ClusterRole with rules',
    method: 'POST',
    path: '/apis/rbac.authorization.k8s.io/v1/clusterroles',
    body: () =>
      fill(
        '{"metadata":{"name":"hostile"},"rules":[',
        (i) => `{"apiGroups":[""],"resources":["r${i}"],"verbs":["get"]}`,
        ']}',
      ),
  },
  {
    title: 'a StorageClass with topologies',
    method: 'POST',
    path: '/apis/storage.k8s.io/v1/storageclasses',
    body: () =>
      fill(
        '{"metadata":{"name":"hostile"},"provisioner":"a.b","allowedTopologies":[',
        (i) => `{"matchLabelExpressions":[{"key":"k${i}","values":["a"]}]}`,
        ']}',
      ),
  },
  {
    title: 'a webhook configuration',
    method: 'POST',
    path: '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations',
    body: () =>
      fill(
        '{"metadata":{"name":"hostile"},"webhooks":[',
        (i) =>
          `{"name":"w${i}.example.com","clientConfig":{"url":"https://example.com"},"sideEffects":"None","admissionReviewVersions":["v1"]}`,
        ']}',
      ),
  },
]

function definition(title: string, schema: () => string): HostileRequest {
  return {
    title: `a CustomResourceDefinition with ${title}`,
    method: 'POST',
    path: '/apis/apiextensions.k8s.io/v1/customresourcedefinitions',
    body: () =>
      `{"metadata":{"name":"hostiles.example.org"},"spec":{"group":"example.org","scope":"Namespaced","names":{"plural":"hostiles","kind":"Hostile"},"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":{"type":"object",${schema()}}}}}}]}}`,
  }
}

function policy(title: string, rest: () => string): HostileRequest {
  return {
    title: `a ValidatingAdmissionPolicy with ${title}`,
    method: 'POST',
    path: '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies',
    body: () =>
      `{"metadata":{"name":"hostile"},"spec":{"matchConstraints":{"resourceRules":[{"apiGroups":["none.example.com"],"apiVersions":["*"],"operations":["CREATE"],"resources":["nothing"]}]},${rest()}}}`,
  }
}

/** A field of protobuf's wire format that holds bytes. */
function field(number: number, bytes: Buffer): Buffer {
  const length: number[] = []
  let rest = bytes.length
  for (; rest > 127; rest >>>= 7) length.push((rest & 127) | 128)
  return Buffer.concat([Buffer.from([number * 8 + 2, ...length, rest]), bytes])
}

const repeatBytes = (bytes: Buffer) => Buffer.concat(Array(Math.floor((MAX_BODY - 200) / bytes.length)).fill(bytes))

const protobuf = (kind: string, message: Buffer) =>
  Buffer.concat([
    Buffer.from('k8s\0'),
    field(1, Buffer.concat([field(1, Buffer.from('v1')), field(2, Buffer.from(kind))])),
    field(2, Buffer.concat([field(1, field(1, Buffer.from('hostile'))), message])),
  ])

/** The kind of the custom resources above. */
export const WIDGETS = {
  metadata: { name: 'widgets.example.com' },
  spec: {
    group: 'example.com',
    scope: 'Namespaced',
    names: { plural: 'widgets', kind: 'Widget' },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        additionalPrinterColumns: [{ name: 'Deep', type: 'string', jsonPath: '.spec..a..b..c' }],
        schema: {
          openAPIV3Schema: {
            type: 'object',
            properties: {
              spec: {
                type: 'object',
                properties: {
                  map: {
                    type: 'array',
                    'x-kubernetes-list-type': 'map',
                    'x-kubernetes-list-map-keys': ['name'],
                    items: {
                      type: 'object',
                      required: ['name'],
                      properties: { name: { type: 'string' }, size: { type: 'integer', default: 1 } },
                    },
                  },
                  set: { type: 'array', 'x-kubernetes-list-type': 'set', items: { type: 'string' } },
                  texts: { type: 'array', items: { type: 'string', pattern: '^(a+)+b$' } },
                  numbers: { type: 'array', items: { type: 'number', enum: Array.from({ length: 500 }, (_, i) => i) } },
                  any: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
                },
              },
            },
          },
        },
      },
    ],
  },
}
