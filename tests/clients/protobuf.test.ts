import { describe, expect, test } from 'vitest'
import { runProgram } from '../tools/cluster.ts'
import { at, type Json } from '../tools/json.ts'
import { kubectl as kubectlOf, kubectlRunsHere } from '../tools/kubectl.ts'
import { expectStatus, useCluster } from '../tools/use-cluster.ts'

/** Typed clients of Go speak protobuf since 1.32, kubectl among them: what it sends and reads must mean the same. */

const BY_PROTOBUF = 'by-protobuf'
const BY_JSON = 'by-json'
const PROTOBUF = 'application/vnd.kubernetes.protobuf'
const server = useCluster(BY_PROTOBUF)

if (!kubectlRunsHere && process.env.CI) throw new Error('CI is set, but there is no kubectl for this machine')

const CREATED: readonly (readonly [line: string, path: string])[] = [
  ['configmap c --from-literal=a=b', '/api/v1/namespaces/*/configmaps/c'],
  ['secret generic s --from-literal=a=b', '/api/v1/namespaces/*/secrets/s'],
  ['deployment web --image=nginx --replicas=0 --port=80', '/apis/apps/v1/namespaces/*/deployments/web'],
  ['service clusterip svc --tcp=80:8080', '/api/v1/namespaces/*/services/svc'],
  ['service nodeport np --tcp=80:http', '/api/v1/namespaces/*/services/np'],
  ['service externalname en --external-name=a.example', '/api/v1/namespaces/*/services/en'],
  ['job j --image=busybox -- true', '/apis/batch/v1/namespaces/*/jobs/j'],
  ['cronjob cj --image=busybox --schedule=@daily -- date', '/apis/batch/v1/namespaces/*/cronjobs/cj'],
  ['role r --verb=get,list --resource=pods', '/apis/rbac.authorization.k8s.io/v1/namespaces/*/roles/r'],
  ['rolebinding rb --role=r --user=u', '/apis/rbac.authorization.k8s.io/v1/namespaces/*/rolebindings/rb'],
  ['ingress i --rule=a.example/x*=svc:80,tls=t', '/apis/networking.k8s.io/v1/namespaces/*/ingresses/i'],
  ['quota q --hard=pods=1,cpu=500m', '/api/v1/namespaces/*/resourcequotas/q'],
  ['poddisruptionbudget p --selector=a=b --min-available=50%', '/apis/policy/v1/namespaces/*/poddisruptionbudgets/p'],
  ['serviceaccount sa', '/api/v1/namespaces/*/serviceaccounts/sa'],
]

/** Without what no two objects have in common. */
function comparable(object: Json): unknown {
  const { metadata, ...rest } = structuredClone(object) as Record<string, Record<string, unknown>>
  const managed = (metadata?.managedFields ?? []) as { fieldsV1: unknown }[]
  const fields = managed.map((entry) => entry.fieldsV1)
  const text = JSON.stringify({ labels: metadata?.labels, fields, ...rest })
  return JSON.parse(text, (key, value) =>
    /^(clusterIPs?|nodePort|f:clusterIPs?|uid|(batch.kubernetes.io\/)?controller-uid)$/.test(key) ? undefined : value,
  )
}

describe.runIf(kubectlRunsHere).each(['1.33', '1.36'])('kubectl %s', (version) => {
  const namespaces = [`${BY_PROTOBUF}-${version}`, `${BY_JSON}-${version}`].map((name) => name.replace('.', '-'))
  const [byProtobuf, byJson] = namespaces as [string, string]

  async function kubectl(line: string, input?: string): Promise<string> {
    const options = input === undefined ? {} : { input }
    const ran = await runProgram(await kubectlOf(version), line.split(' '), server.cluster.env, options)
    if (ran.code !== 0) expect.fail(`kubectl ${line} ended with ${ran.code}:\n${ran.stdout}${ran.stderr}`)
    return ran.stdout
  }
  const read = async (path: string) => expectStatus(await server.api.get(path), 200).object

  test('create gives the same object as its JSON does', async () => {
    for (const namespace of namespaces) await kubectl(`create namespace ${namespace}`)
    for (const [line, path] of CREATED) {
      const [flags, command] = line.split(' -- ') as [string, string?]
      const rest = command ? ` -- ${command}` : ''
      await kubectl(`create -n ${byProtobuf} ${flags}${rest}`)
      const json = await kubectl(`create -n ${byJson} ${flags} --dry-run=client -o json${rest}`)
      await kubectl(`create -n ${byJson} -f -`, json)
      const made = await Promise.all(namespaces.map((name) => read(path.replace('*', name))))
      expect(comparable(made[0]!), line).toEqual(comparable(made[1]!))
    }
    expect(at(await read(`/apis/apps/v1/namespaces/${byProtobuf}/deployments/web`), 'spec.replicas')).toBe(0)
  })

  test('reads and questions', async () => {
    expect(await kubectl('auth can-i create pods')).toBe('yes\n')
    expect(await kubectl('auth whoami')).toContain('system:masters')
    expect(await kubectl(`describe -n ${byProtobuf} deployment web`)).toMatch(/^Replicas: +0 desired/m)
    expect(await kubectl(`describe -n ${byProtobuf} service svc`)).toMatch(/^TargetPort: +8080\/TCP/m)
    expect(await kubectl(`describe -n ${byProtobuf} cronjob cj`)).toMatch(/^Schedule: +@daily/m)
    expect(await kubectl(`describe -n ${byProtobuf} pdb p`)).toMatch(/^Min available: +50%/m)
    expect(await kubectl(`describe -n ${byProtobuf} secret s`)).toMatch(/^a: +1 bytes/m)
  })

  test('writes that are no plain create', async () => {
    const node = `node-${byProtobuf}`
    await kubectl('create -f -', JSON.stringify({ apiVersion: 'v1', kind: 'Node', metadata: { name: node } }))
    expect(await kubectl(`drain ${node}`)).toContain('drained')
    expect(at(await read(`/api/v1/nodes/${node}`), 'spec.unschedulable')).toBe(true)
    await kubectl(`run -n ${byProtobuf} pod --image=nginx`)
    expect(await kubectl(`delete -n ${byProtobuf} pod pod --grace-period=0 --force`)).toContain('deleted')
    expectStatus(await server.api.get(`/api/v1/namespaces/${byProtobuf}/pods/pod`), 404)
    await kubectl(`scale -n ${byProtobuf} deployment web --replicas=2`)
    expect(at(await read(`/apis/apps/v1/namespaces/${byProtobuf}/deployments/web`), 'spec.replicas')).toBe(2)
  })
})

describe('content types', () => {
  const path = `/api/v1/namespaces/${BY_PROTOBUF}/configmaps`
  const send = (body: Buffer) => server.api.request('POST', path, { body, headers: { 'content-type': PROTOBUF } })

  test.each([
    ['application/vnd.kubernetes.protobuf,application/json', PROTOBUF],
    ['application/json,application/vnd.kubernetes.protobuf', 'application/json'],
    [`${PROTOBUF};as=Table;g=meta.k8s.io;v=v1,application/json`, 'application/json'],
    [
      `${PROTOBUF};as=PartialObjectMetadataList;g=meta.k8s.io;v=v1`,
      `${PROTOBUF};as=PartialObjectMetadataList;g=meta.k8s.io;v=v1`,
    ],
  ])('accept %s gets %s', async (accept, contentType) => {
    const answer = expectStatus(await server.api.get(path, { accept }), 200)
    expect(answer.headers['content-type']).toBe(contentType)
    expect(answer.bytes.subarray(0, 4).equals(Buffer.from('k8s\0'))).toBe(contentType.startsWith(PROTOBUF))
  })

  test('a watch sends events behind their length', async () => {
    expectStatus(await server.api.create(path, { metadata: { name: 'watched' } }), 201)
    const watch = `${path}?watch=true&resourceVersion=0&timeoutSeconds=1`
    const { bytes, headers } = expectStatus(await server.api.get(watch, { accept: `${PROTOBUF};stream=watch` }), 200)
    expect(headers['content-type']).toBe(`${PROTOBUF};stream=watch`)
    const frames: Buffer[] = []
    for (let start = 0; start < bytes.length; start += 4 + bytes.readUInt32BE(start))
      frames.push(bytes.subarray(start + 4, start + 4 + bytes.readUInt32BE(start)))
    expect(frames.filter((frame) => frame.includes('\x05ADDED') && frame.includes('watched'))).toHaveLength(1)
  })

  test.each([
    ['no protobuf at all', Buffer.from('{"kind":"ConfigMap"}')],
    ['an envelope that ends too early', Buffer.from('k8s\0\x0a\x7f')],
    ['bytes of noise', Buffer.concat([Buffer.from('k8s\0'), Buffer.alloc(1000, 0xff)])],
  ])('%s is a bad request', async (_, body) => {
    const answer = expectStatus(await send(body), 400)
    expect(at(answer.object, 'reason')).toBe('BadRequest')
  })

  test('an empty object is judged like one of JSON', async () => {
    const answer = expectStatus(await send(Buffer.from('k8s\0')), 422)
    expect(at(answer.object, 'message')).toContain('metadata.name')
  })
})
