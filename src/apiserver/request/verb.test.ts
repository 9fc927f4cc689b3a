import { expect, it } from 'vitest'
import { Query } from './query.ts'
import { parsePath } from './request-info.ts'
import { verbOf } from './verb.ts'

const PODS = '/api/v1/namespaces/a/pods'

it.each([
  ['GET', PODS, '', 'list'],
  ['HEAD', PODS, '', 'list'],
  ['GET', `${PODS}/b`, '', 'get'],
  ['POST', PODS, '', 'create'],
  ['POST', `${PODS}/b/binding`, '', 'create'],
  ['PUT', `${PODS}/b`, '', 'update'],
  ['PATCH', `${PODS}/b/status`, '', 'patch'],
  ['DELETE', `${PODS}/b`, '', 'delete'],
  ['DELETE', PODS, '', 'deletecollection'],
  ['GET', PODS, 'watch', 'watch'],
  ['GET', PODS, 'watch=', 'watch'],
  ['GET', PODS, 'watch=1', 'watch'],
  ['GET', PODS, 'watch=true', 'watch'],
  ['GET', PODS, 'watch=True', 'watch'],
  ['GET', PODS, 'limit=1&watch=t', 'watch'],
  ['GET', PODS, 'watch=0', 'list'],
  ['GET', PODS, 'watch=false', 'list'],
  ['GET', PODS, 'unwatch=true', 'list'],
  ['GET', `${PODS}/b`, 'watch=true', 'get'],
  ['POST', PODS, 'watch=true', 'create'],
  ['GET', '/api/v1/watch/namespaces/a/pods', '', 'watch'],
  ['GET', '/api/v1/watch/namespaces/a/pods/b', '', 'watch'],
  ['GET', `${PODS}/b/log`, 'watch=true', 'get'],
  ['GET', PODS, 'watch=yes', 'watch'],
  ['GET', PODS, 'limit=1&w%61tch=tru%65', 'watch'],
  ['HEAD', PODS, 'watch=true', 'watch'],
  ['GET', PODS, 'watch=true&watch=false', 'watch'],
  ['GET', PODS, 'watch=false&watch=true', 'list'],
  ['GET', PODS, 'watch=FALSE', 'list'],
  ['GET', PODS, 'Watch=true', 'list'],
  ['DELETE', PODS, 'watch=true', 'deletecollection'],
  ['POST', '/api/v1/watch/pods', '', 'create'],
  ['POST', '/metrics', '', 'post'],
  ['OPTIONS', `${PODS}/b/proxy`, '', ''],
  ['TRACE', PODS, '', ''],
  ['GET', '/healthz', 'watch=true', 'get'],
])('%s %s?%s is %s', (method, path, query, verb) => {
  expect(verbOf(method, parsePath(path), Query.parse(query))).toBe(verb)
})
