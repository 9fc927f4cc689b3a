import { describe, expect, it } from 'vitest'
import { parsePath, readRequestLine } from './request-info.ts'

const nothing = { namespace: '', name: '', subresource: '', rest: '', watchPath: false }

describe('parsePath', () => {
  it.each([
    ['/api/v1/pods', { group: '', version: 'v1', resource: 'pods' }],
    ['/api/v1/namespaces', { group: '', version: 'v1', resource: 'namespaces' }],
    ['/api/v1/namespaces/a', { group: '', version: 'v1', resource: 'namespaces', name: 'a' }],
    [
      '/api/v1/namespaces/a/status',
      { group: '', version: 'v1', resource: 'namespaces', name: 'a', subresource: 'status' },
    ],
    ['/api/v1/namespaces/a/pods', { group: '', version: 'v1', resource: 'pods', namespace: 'a' }],
    ['/api/v1/namespaces/a/pods/b', { group: '', version: 'v1', resource: 'pods', namespace: 'a', name: 'b' }],
    [
      '/apis/apps/v1/namespaces/a/deployments/b/scale',
      { group: 'apps', version: 'v1', resource: 'deployments', namespace: 'a', name: 'b', subresource: 'scale' },
    ],
    [
      '/api/v1/nodes/n/proxy/a/b',
      { group: '', version: 'v1', resource: 'nodes', name: 'n', subresource: 'proxy', rest: 'a/b' },
    ],
    ['/api/v1/watch/pods', { group: '', version: 'v1', resource: 'pods', watchPath: true }],
    [
      '/apis/rbac.authorization.k8s.io/v1/clusterroles/system%3Anode',
      { group: 'rbac.authorization.k8s.io', version: 'v1', resource: 'clusterroles', name: 'system:node' },
    ],
    ['/api/v1/pods/', { group: '', version: 'v1', resource: 'pods' }],
  ])('%s is a resource', (path, info) => {
    expect(parsePath(path)).toEqual({ isResource: true, ...nothing, ...info })
  })

  it.each(['/', '/api', '/api/v1', '/api/v1/', '/apis', '/apis/apps', '/apis/apps/v1', '/healthz', '/openapi/v3', ''])(
    '%s is no resource',
    (path) => expect(parsePath(path)).toEqual({ isResource: false, path }),
  )

  it.each([
    '/api/v1/namespaces/a%2Fb/pods',
    '/api/v1/pods/%zz',
    '/api/v1/namespaces/a/pods/%00',
    '/api/v1/namespaces//pods',
    '/api/v1/namespaces/a//pods',
    '/api/v1/pods//',
    '/apis/example.com/v1/../../../api/v1/secrets',
    '/apis/example.com/v1/things/..',
    '/apis/example.com/v1/things/%2e%2E/secrets',
    '/apis/example.com/v1/things/a/status/../../secrets',
    '/api/v1/nodes/n/proxy/../../secrets',
    '/api/v1/nodes/n/proxy/%2e%2e/%2E./x',
    '/api/v1/nodes/n/proxy/./x',
  ])('%s is refused', (path) => {
    expect(() => parsePath(path)).toThrow(expect.objectContaining({ code: 400 }))
  })

  it.each(['/api/v1/nodes/n/proxy//a', '/api/v1/nodes/n/proxy/a/...', '/api/v1/nodes/n/proxy/.well-known/%2ea'])(
    '%s is handed on as it is',
    (path) => expect(parsePath(path)).toMatchObject({ rest: path.slice('/api/v1/nodes/n/proxy/'.length) }),
  )
})

const PODS = '/api/v1/namespaces/a/pods'

describe('readRequestLine', () => {
  it.each([
    ['GET', `${PODS}/b`, 'get'],
    ['HEAD', `${PODS}/b`, 'get'],
    ['GET', PODS, 'list'],
    ['HEAD', PODS, 'list'],
    ['POST', PODS, 'create'],
    ['PUT', `${PODS}/b`, 'update'],
    ['PATCH', `${PODS}/b`, 'patch'],
    ['DELETE', `${PODS}/b`, 'delete'],
    ['DELETE', PODS, 'deletecollection'],
    ['OPTIONS', PODS, ''],
    ['TRACE', PODS, ''],
    ['GET', `${PODS}?watch=true`, 'watch'],
    ['GET', `${PODS}?watch=True`, 'watch'],
    ['GET', `${PODS}?watch=1`, 'watch'],
    ['GET', `${PODS}?watch=t`, 'watch'],
    ['GET', `${PODS}?watch=yes`, 'watch'],
    ['GET', `${PODS}?watch=`, 'watch'],
    ['GET', `${PODS}?watch`, 'watch'],
    ['GET', `${PODS}?limit=1&w%61tch=tru%65`, 'watch'],
    ['HEAD', `${PODS}?watch=true`, 'watch'],
    ['GET', `${PODS}?watch=true&watch=false`, 'watch'],
    ['GET', `${PODS}?watch=false&watch=true`, 'list'],
    ['GET', `${PODS}?watch=0`, 'list'],
    ['GET', `${PODS}?watch=FALSE`, 'list'],
    ['GET', `${PODS}?watch=False`, 'list'],
    ['GET', `${PODS}?Watch=true`, 'list'],
    ['GET', `${PODS}/b?watch=true`, 'get'],
    ['DELETE', `${PODS}?watch=true`, 'deletecollection'],
    ['GET', '/api/v1/watch/pods', 'watch'],
    ['GET', '/api/v1/watch/namespaces/a/pods/b', 'watch'],
    ['POST', '/api/v1/watch/pods', 'create'],
    ['GET', '/metrics?watch=true', 'get'],
    ['POST', '/metrics', 'post'],
  ])('%s %s is %s', (method, url, verb) => expect(readRequestLine(method, url).verb).toBe(verb))

  it.each([
    [`${PODS}?watch=True`, true],
    [`${PODS}/b/log`, true],
    [`${PODS}/b/exec`, true],
    [PODS, false],
    ['/metrics?watch=true', false],
  ])('%s is long-running: %s', (url, expected) => expect(readRequestLine('GET', url).isLongRunning).toBe(expected))

  it('keeps why a path cannot be read', () => {
    const line = readRequestLine('GET', '/api/v1/pods/%zz?watch=true')
    expect(line).toMatchObject({ verb: 'get', info: { isResource: false }, problem: { code: 400 } })
  })
})
