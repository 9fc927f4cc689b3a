import { describe, expect, test } from 'vitest'
import { parametersOf } from '../../fuzz/document.ts'
import { at, type Json, listAt, textAt } from '../../tools/json.ts'
import { expectStatus, useCluster } from '../../tools/use-cluster.ts'

const server = useCluster('discovering')
const V2 = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList'
const V2BETA1 = 'application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList'

/** Every group version that v1.36 serves unasked. */
const GROUP_VERSIONS = [
  'admissionregistration.k8s.io/v1',
  'apiextensions.k8s.io/v1',
  'apiregistration.k8s.io/v1',
  'apps/v1',
  'authentication.k8s.io/v1',
  'authorization.k8s.io/v1',
  'autoscaling/v1',
  'autoscaling/v2',
  'batch/v1',
  'certificates.k8s.io/v1',
  'coordination.k8s.io/v1',
  'discovery.k8s.io/v1',
  'events.k8s.io/v1',
  'flowcontrol.apiserver.k8s.io/v1',
  'networking.k8s.io/v1',
  'node.k8s.io/v1',
  'policy/v1',
  'rbac.authorization.k8s.io/v1',
  'resource.k8s.io/v1',
  'scheduling.k8s.io/v1',
  'storage.k8s.io/v1',
]

describe('plain discovery', () => {
  test('/apis lists the groups, each with a preferred version it has', async () => {
    const groups = listAt((await server.api.get('/apis')).object, 'groups')
    const served = groups.flatMap((group) => listAt(group, 'versions').map((version) => version.groupVersion))
    expect(served.sort()).toEqual(GROUP_VERSIONS)
    for (const group of groups) {
      const alone = expectStatus(await server.api.get(`/apis/${group.name}`), 200)
      expect(alone.object).toMatchObject({
        kind: 'APIGroup',
        apiVersion: 'v1',
        preferredVersion: group.preferredVersion,
      })
      const versions = listAt(group, 'versions').map((version) => version.version)
      expect(versions).toContain(at(group, 'preferredVersion.version'))
    }
    expect(
      at(
        groups.find((group) => group.name === 'autoscaling'),
        'preferredVersion.version',
      ),
    ).toBe('v2')
  })

  test('/api has v1 alone', async () => {
    expect((await server.api.get('/api')).object).toMatchObject({ kind: 'APIVersions', versions: ['v1'] })
  })

  test('every group version has its resources', async () => {
    for (const groupVersion of ['v1', ...GROUP_VERSIONS]) {
      const path = groupVersion === 'v1' ? '/api/v1' : `/apis/${groupVersion}`
      const { object } = expectStatus(await server.api.get(path), 200)
      expect(object).toMatchObject({ kind: 'APIResourceList', groupVersion })
      expect(listAt(object, 'resources').length).toBeGreaterThan(0)
    }
  })

  test.each([
    ['/api/v1', 'pods/status', { kind: 'Pod', verbs: ['get', 'patch', 'update'] }],
    ['/api/v1', 'pods/eviction', { kind: 'Eviction', group: 'policy', version: 'v1', verbs: ['create'] }],
    ['/api/v1', 'serviceaccounts/token', { kind: 'TokenRequest', group: 'authentication.k8s.io', version: 'v1' }],
    ['/api/v1', 'replicationcontrollers/scale', { kind: 'Scale', group: 'autoscaling', version: 'v1' }],
    ['/apis/apps/v1', 'deployments/scale', { kind: 'Scale', group: 'autoscaling', version: 'v1' }],
    ['/api/v1', 'pods', { shortNames: ['po'], categories: ['all'], singularName: 'pod' }],
    ['/apis/certificates.k8s.io/v1', 'certificatesigningrequests/approval', { kind: 'CertificateSigningRequest' }],
    ['/api/v1', 'namespaces/finalize', { kind: 'Namespace', verbs: ['update'] }],
  ])('%s %s', async (path, name, expected) => {
    const resources = listAt((await server.api.get(path)).object, 'resources')
    expect(resources.find((entry) => entry.name === name)).toMatchObject(expected)
  })
})

describe('aggregated discovery', () => {
  test.each([
    ['v2', V2, 'apidiscovery.k8s.io/v2'],
    ['v2beta1', V2BETA1, 'apidiscovery.k8s.io/v2beta1'],
  ])('%s is answered with its own content type', async (_name, accept, apiVersion) => {
    for (const path of ['/api', '/apis']) {
      const answer = expectStatus(await server.api.get(path, { accept: `${accept},application/json` }), 200)
      expect(answer.headers['content-type']?.replace(/;charset=.*/, '')).toBe(accept)
      expect(answer.object).toMatchObject({ kind: 'APIGroupDiscoveryList', apiVersion })
    }
  })

  test('holds the same as the plain lists', async () => {
    const aggregated = listAt((await server.api.get('/apis', { accept: V2 })).object, 'items')
    for (const group of aggregated) {
      for (const version of listAt(group, 'versions')) {
        const path = `/apis/${textAt(group, 'metadata.name')}/${version.version}`
        const plain = listAt((await server.api.get(path)).object, 'resources').map((entry) => entry.name)
        const nested = listAt(version, 'resources').flatMap((entry) => [
          entry.resource,
          ...((entry.subresources ?? []) as { subresource: string }[]).map(
            (sub) => `${entry.resource}/${sub.subresource}`,
          ),
        ])
        expect(nested.sort()).toEqual(plain.sort())
      }
    }
  })

  test('an unchanged document is 304', async () => {
    const first = await server.api.get('/apis', { accept: V2 })
    expect(first.headers.etag).toBeTruthy()
    const again = await server.api.get('/apis', { accept: V2, 'if-none-match': first.headers.etag as string })
    expect([again.status, again.bytes.length]).toEqual([304, 0])
  })
})

describe('OpenAPI', () => {
  test('v3: every group version, by a hashed address', async () => {
    const paths = at((await server.api.get('/openapi/v3')).object, 'paths') as Record<
      string,
      { serverRelativeURL: string }
    >
    for (const groupVersion of GROUP_VERSIONS) expect(Object.keys(paths)).toContain(`apis/${groupVersion}`)
    const entry = paths['apis/apps/v1']?.serverRelativeURL as string
    expect(entry).toMatch(/^\/openapi\/v3\/apis\/apps\/v1\?hash=[0-9A-F]+$/i)
    const document = expectStatus(await server.api.get(entry), 200)
    const deployment = at(document.object, 'components.schemas.[io.k8s.api.apps.v1.Deployment]')
    expect(at(deployment, 'x-kubernetes-group-version-kind.0')).toEqual({
      group: 'apps',
      version: 'v1',
      kind: 'Deployment',
    })
    const patch = at(document.object, 'paths.[/apis/apps/v1/namespaces/{namespace}/deployments/{name}].patch')
    const parameters = parametersOf(document.object, patch as Json).map((parameter) => parameter.name)
    expect(parameters).toEqual(expect.arrayContaining(['dryRun', 'fieldManager', 'fieldValidation', 'force']))
    const containers = at(document.object, 'components.schemas.[io.k8s.api.core.v1.PodSpec].properties.containers')
    expect(containers).toMatchObject({ 'x-kubernetes-patch-merge-key': 'name', 'x-kubernetes-list-type': 'map' })
  })

  test('v2 as JSON and as protobuf', async () => {
    const json = expectStatus(await server.api.get('/openapi/v2'), 200)
    expect(json.object).toMatchObject({ swagger: '2.0' })
    expect(at(json.object, 'definitions.[io.k8s.api.core.v1.Pod]')).toBeDefined()
    const type = 'application/com.github.proto-openapi.spec.v2@v1.0+protobuf'
    const binary = expectStatus(await server.api.get('/openapi/v2', { accept: type }), 200)
    expect(binary.headers['content-type']).toContain('protobuf')
    // Field 1 of the document, a string of three bytes: "2.0".
    expect([...binary.bytes.subarray(0, 5)]).toEqual([0x0a, 3, 0x32, 0x2e, 0x30])
  })
})

describe('the rest that is not a resource', () => {
  test('version', async () => {
    const version = await server.api.get('/version')
    expect(version.object).toMatchObject({ major: '1', minor: '36' })
    expect(textAt(version.object, 'gitVersion')).toMatch(/^v1\.36\.\d+/)
  })

  test.each(['/healthz', '/livez', '/readyz'])('%s', async (path) => {
    expect(expectStatus(await server.api.get(path), 200).text).toBe('ok')
    expect((await server.api.get(`${path}?verbose`)).text).toContain('check passed')
  })

  test('metrics', async () => {
    const metrics = expectStatus(await server.api.get('/metrics', { accept: '*/*' }), 200)
    expect(metrics.headers['content-type']).toContain('text/plain')
    expect(metrics.text).toMatch(/^apiserver_request_total\{.*\} \d+$/m)
  })

  test('gzip for those who ask', async () => {
    const answer = await server.api.get('/openapi/v2', { 'accept-encoding': 'gzip' })
    expect(answer.headers['content-encoding']).toBe('gzip')
    expect([...answer.bytes.subarray(0, 2)]).toEqual([0x1f, 0x8b])
  })
})
