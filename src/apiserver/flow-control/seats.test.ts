import { expect, it } from 'vitest'
import { Query } from '../request/query.ts'
import { parsePath, type ResourceInfo } from '../request/request-info.ts'
import { type ResourceSizes, seatsOf } from './seats.ts'

const LIST = '/api/v1/configmaps'
const sizes: ResourceSizes = {
  loaded: (prefix) =>
    prefix === '/registry/configmaps/'
      ? { size: 500, averageBytes: 900 }
      : prefix === '/registry/pods/'
        ? { size: 50_000, averageBytes: 4000 }
        : undefined,
}

it.each<[string, string, string, string, number]>([
  ['a get', 'get', `${LIST.replace('configmaps', 'namespaces/default/configmaps')}/a`, '', 1],
  ['a write', 'create', LIST, '', 1],
  ['a list of 450 KB', 'list', LIST, '', 5],
  ['a page of it', 'list', LIST, 'limit=200', 2],
  ['a small page of it', 'list', LIST, 'fieldSelector=x&limit=10', 1],
  ['a page that is larger than all', 'list', LIST, 'limit=5000', 5],
  ['a list of 200 MB', 'list', '/api/v1/pods', '', 10],
  ['a list of what is not known', 'list', '/api/v1/secrets', '', 1],
  ['a list of one name', 'list', LIST, 'fieldSelector=metadata.name%3Da&limit=500', 1],
  ['a list of one name, written otherwise', 'list', LIST, 'limit=500&fieldSelector=metadata.name==a', 1],
  ['a list of all names but one', 'list', LIST, 'fieldSelector=metadata.name!=a', 5],
  ['a watch from a version', 'watch', LIST, 'watch=1&resourceVersion=17', 1],
  ['a watch from now', 'watch', LIST, 'watch=1', 5],
  ['a watch from any version', 'watch', LIST, 'resourceVersion=0&watch=1', 5],
  ['a watch that lists, in other words', 'watch', LIST, 'resourceVersion=17&sendInitialEvents=True', 5],
  ['a page, in other words', 'list', LIST, '%6cimit=200', 2],
  ['a watch that lists', 'watch', LIST, 'resourceVersion=17&sendInitialEvents=true&watch=1', 5],
])('%s', (_, verb, path, query, seats) => {
  expect(seatsOf(verb, parsePath(path) as ResourceInfo, Query.parse(query), sizes)).toBe(seats)
})
