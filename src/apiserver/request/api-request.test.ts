import { describe, expect, it } from 'vitest'
import type { Exchange } from '../http/exchange.ts'
import { ApiRequest } from './api-request.ts'

const PODS = '/api/v1/namespaces/a/pods'
const request = (url: string, method = 'GET') => new ApiRequest({ method, url } as Exchange)

describe('an ApiRequest', () => {
  it('splits path and query once', () => {
    const { path, query, info, verb } = request(`${PODS}?limit=5&watch=0`)
    expect({ path, limit: query.get('limit'), verb }).toEqual({ path: PODS, limit: '5', verb: 'list' })
    expect(info).toMatchObject({ isResource: true, resource: 'pods', namespace: 'a' })
  })

  it.each([
    [`${PODS}?watch=True`, true],
    [`${PODS}/b/log`, true],
    [`${PODS}/b/exec`, true],
    [PODS, false],
    ['/metrics?watch=true', false],
  ])('%s is long-running: %s', (url, expected) => expect(request(url).isLongRunning).toBe(expected))

  it('keeps why a path cannot be read', () => {
    expect(request('/api/v1/pods/%zz?watch=true')).toMatchObject({
      verb: 'get',
      info: { isResource: false },
      malformed: { code: 400 },
    })
  })
})
