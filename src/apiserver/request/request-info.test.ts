import { describe, expect, it } from 'vitest'
import { parsePath } from './request-info.ts'

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
