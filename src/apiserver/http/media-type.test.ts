import { describe, expect, it } from 'vitest'
import { essence, negotiate } from './media-type.ts'

const KUBECTL_GET =
  'application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json'

describe('negotiate', () => {
  it.each([
    [undefined, true, 'object', 'application/json'],
    ['*/*', true, 'object', 'application/json'],
    ['application/json', true, 'object', 'application/json'],
    ['application/yaml', true, 'object', 'application/yaml'],
    [KUBECTL_GET, true, 'Table', 'application/json;as=Table;g=meta.k8s.io;v=v1'],
    [KUBECTL_GET, false, 'object', 'application/json'],
    ['application/vnd.kubernetes.protobuf, application/json', true, 'object', 'application/json'],
    ['application/json;q=0.5, application/yaml', true, 'object', 'application/yaml'],
    ['application/json;stream=watch', true, 'object', 'application/json'],
    [
      'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1',
      true,
      'PartialObjectMetadataList',
      'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1',
    ],
  ] as const)('%s (views %s) -> %s', (accept, hasViews, as, contentType) => {
    expect(negotiate(accept, hasViews)).toMatchObject({ as, contentType })
  })

  it.each([
    ['application/vnd.kubernetes.protobuf,application/json', 'object', 'application/vnd.kubernetes.protobuf'],
    ['application/vnd.kubernetes.protobuf;stream=watch', 'object', 'application/vnd.kubernetes.protobuf'],
    ['application/vnd.kubernetes.protobuf;as=Table;g=meta.k8s.io;v=v1,*/*', 'object', 'application/json'],
    [
      'application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;g=meta.k8s.io;v=v1',
      'PartialObjectMetadata',
      'application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;g=meta.k8s.io;v=v1',
    ],
    ['application/json,application/vnd.kubernetes.protobuf', 'object', 'application/json'],
  ])('%s of a kind with a protobuf form -> %s', (accept, as, contentType) => {
    expect(negotiate(accept, true, true)).toMatchObject({ as, contentType })
  })

  it.each([
    ['application/vnd.kubernetes.protobuf', true],
    ['text/html', true],
    ['constructor', true],
    ['application/json;as=Table;v=v1;g=meta.k8s.io', false],
    ['application/json;as=Unheard;v=v1;g=meta.k8s.io', true],
    ['application/json;as=Table;v=v2;g=meta.k8s.io', true],
  ])('refuses %s (views %s) with 406', (accept, hasViews) => {
    expect(() => negotiate(accept, hasViews)).toThrow(expect.objectContaining({ code: 406 }))
  })
})

describe('essence', () => {
  it.each([
    [undefined, ''],
    ['application/json', 'application/json'],
    ['Application/JSON; charset=utf-8', 'application/json'],
  ])('%s -> %s', (header, type) => expect(essence(header)).toBe(type))
})
