import { expect, it } from 'vitest'
import { readRequestLine } from './request-info.ts'
import { checkTimeout } from './request-timeout.ts'

const PODS = '/api/v1/namespaces/default/pods'
const told = (path: string, query: string): string => {
  try {
    checkTimeout(readRequestLine('GET', `${path}?${query}`))
    return 'served'
  } catch (error) {
    return (error as Error).message
  }
}
const refusal = (why: string) => `invalid timeout specified in the request URL - ${why}`

it.each([
  [PODS, '', 'served'],
  [PODS, 'timeout=', 'served'],
  [PODS, 'timeout=3m', 'served'],
  [PODS, 'timeout=0s', 'served'],
  [PODS, 'timeout=-1s', 'served'],
  [PODS, 'timeoutSeconds=x', 'served'],
  [PODS, 'timeout=invalid', refusal('time: invalid duration "invalid"')],
  [PODS, 'timeout=1d', refusal('time: invalid duration "1d"')],
  [PODS, 'limit=1&timeout=32', refusal('time: missing unit in duration "32"')],
  ['/version', 'timeout=invalid', refusal('time: invalid duration "invalid"')],
  [PODS, 'timeout=invalid&watch=true', 'served'],
  [`${PODS}/a/exec`, 'timeout=invalid', 'served'],
])('%s?%s', (path, query, expected) => expect(told(path, query)).toBe(expected))
