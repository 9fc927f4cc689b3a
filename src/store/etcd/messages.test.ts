import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { loadSync } from '@grpc/proto-loader'
import { describe, expect, it } from 'vitest'
import type { FieldTable, MessageType } from '../../protobuf/message.ts'
import * as messages from './messages.ts'

/** etcd's own descriptors, from the package that carries them. */
const folder = join(dirname(createRequire(import.meta.url).resolve('etcd3/package.json')), 'proto')
const packages = loadSync(join(folder, 'rpc.proto'), { includeDirs: [folder], keepCase: true })

interface Descriptor {
  type: { field: { name: string; number: number; label: string; type: string }[] }
}

const isMessage = (value: unknown): value is MessageType<unknown> =>
  typeof value === 'object' && value !== null && 'fields' in value
const tables: [string, FieldTable][] = Object.entries(messages).flatMap(([name, value]) =>
  isMessage(value) ? [[name, value.fields] as [string, FieldTable]] : [],
)
const WIRE: Record<string, string[]> = {
  bytes: ['TYPE_BYTES'],
  string: ['TYPE_STRING'],
  bool: ['TYPE_BOOL'],
  int64: ['TYPE_INT64', 'TYPE_ENUM'],
}

describe("etcd's messages", () => {
  it('are found', () => expect(tables.length).toBeGreaterThan(15))

  it.each(tables)('%s has the published field numbers and types', (name, fields) => {
    const found = (packages[`etcdserverpb.${name}`] ??
      packages[`mvccpb.${name}`] ??
      packages[name]) as unknown as Descriptor
    expect(found, fileURLToPath(import.meta.url)).toBeDefined()
    for (const [field, { number, type, form }] of Object.entries(fields)) {
      const published = found.type.field.find((one) => one.name === field)
      expect([field, published?.number, published?.label === 'LABEL_REPEATED']).toEqual([
        field,
        number,
        form === 'many',
      ])
      expect(typeof type === 'string' ? WIRE[type] : ['TYPE_MESSAGE']).toContain(published?.type)
    }
  })

  it.each([0, 1, 127, 128, 300, 2 ** 31, 2 ** 40, 2 ** 49, Number.MAX_SAFE_INTEGER])(
    'carry the number %d',
    (revision) => {
      const encoded = messages.ResponseHeader.encode({ revision })
      expect(messages.ResponseHeader.decode(encoded)).toEqual({ revision })
    },
  )

  it('skip fields they do not know, and take negative numbers', () => {
    const unknown = Buffer.from([0x08, 0xff, 0x01, 0x11, 1, 2, 3, 4, 5, 6, 7, 8, 0x22, 2, 9, 9, 0x2d, 1, 2, 3, 4])
    expect(messages.StatusRequest.decode(unknown)).toEqual({})
    const minusOne = Buffer.from([0x10, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01])
    expect(messages.WatchResponse.decode(minusOne)).toEqual({ watch_id: -1 })
  })

  it('refuse what is cut off', () => {
    const whole = messages.KeyValue.encode({ key: Buffer.from('key'), value: Buffer.alloc(200) })
    for (const length of [1, 3, 8, 100]) expect(() => messages.KeyValue.decode(whole.subarray(0, length))).toThrow()
  })
})
