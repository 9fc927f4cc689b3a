import { expect, it } from 'vitest'
import type { Exchange } from '../http/exchange.ts'
import { ApiRequest } from '../request/api-request.ts'
import { checkTimeout } from './check-timeout.ts'
import type { StageContext } from './stage.ts'

const PODS = '/api/v1/namespaces/default/pods'
const told = (path: string, query: string): string => {
  let outcome = 'refused'
  try {
    const exchange = { method: 'GET', url: `${path}?${query}` } as Exchange
    void checkTimeout({} as StageContext, new ApiRequest(exchange), () => {
      outcome = 'served'
    })
    return outcome
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
