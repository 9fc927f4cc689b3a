import { expect, it } from 'vitest'
import { configMapKind } from '../../api/kinds/core/config-map.ts'
import { decodeBody } from '../registry/decode.ts'
import { parsePath, type ResourceInfo } from '../request/request-info.ts'
import { requestBody } from './request-body.ts'

const info = parsePath('/api/v1/namespaces/default/configmaps/a') as ResourceInfo
const read = async (text: string, contentType: string, isPatch: boolean) => {
  const patchType = isPatch ? 'application/apply-patch+yaml' : undefined
  return decodeBody((await requestBody(Buffer.from(text), contentType, patchType, configMapKind, info))!).value
}

it.each<[text: string, contentType: string, isPatch: boolean, value: object]>([
  ['{"a":1}', 'application/json', false, { a: 1 }],
  ['{"a":1}', 'application/apply-patch+yaml', true, { a: 1 }],
  ['a: 1', 'application/apply-patch+yaml', true, { a: 1 }],
  ['{"a":1,}', 'application/apply-patch+yaml', true, { a: 1 }],
  ['{a: [x,],}', 'application/yaml', false, { a: ['x'] }],
])('%s as %s', async (text, contentType, isPatch, value) => {
  expect(await read(text, contentType, isPatch)).toEqual(value)
})

it.each<[text: string, contentType: string, isPatch: boolean, message: string]>([
  ['{"a":1,}', 'application/json', false, 'json parse error'],
  ['{"a":1', 'application/apply-patch+yaml', true, 'error converting YAML to JSON'],
])('%s as %s is refused', async (text, contentType, isPatch, message) => {
  await expect(read(text, contentType, isPatch)).rejects.toThrow(message)
})
