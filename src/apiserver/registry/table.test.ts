import { describe, expect, it } from 'vitest'
import type { ConfigMap, Event, LimitRange, Secret } from '../../api/generated/core-v1.ts'
import type { Kind } from '../../api/kind.ts'
import { configMapKind } from '../../api/kinds/core/config-map.ts'
import { eventKind } from '../../api/kinds/core/event/kind.ts'
import { limitRangeKind } from '../../api/kinds/core/limit-range.ts'
import { secretKind } from '../../api/kinds/core/secret.ts'
import type { KubernetesObject } from '../../api/meta/object.ts'
import { partialObjectMetadata, partialObjectMetadataList } from './partial-metadata.ts'
import { type Table, tableFor } from './table.ts'

const NOW = Date.UTC(2026, 0, 1, 2, 0)
const metadata = { name: 'a', namespace: 'shop', creationTimestamp: '2026-01-01T00:00:00Z' }
const configMap: ConfigMap = { metadata, data: { x: '1' }, binaryData: { y: 'AAEC' } }

/** What `kubectl get` makes of a table: upper-case headings, cells padded to the widest, three spaces between. */
function printed(table: Table, wide = false): string {
  const shown = table.columnDefinitions!.flatMap((column, index) => (column.priority === 0 || wide ? [index] : []))
  const lines = [
    shown.map((index) => table.columnDefinitions![index]!.name.toUpperCase()),
    ...table.rows.map((row) => shown.map((index) => String(row.cells[index]))),
  ]
  const widths = shown.map((_, index) => Math.max(...lines.map((line) => line[index]!.length)) + 3)
  return lines
    .map((line) =>
      line
        .map((cell, index) => cell.padEnd(widths[index]!))
        .join('')
        .trimEnd(),
    )
    .join('\n')
}

describe('tableFor', () => {
  it.each<[string, Kind, KubernetesObject, string]>([
    ['config maps', configMapKind, configMap, 'NAME   DATA   AGE\na      2      120m'],
    [
      'secrets',
      secretKind,
      { metadata, type: 'Opaque', data: {} } as Secret,
      'NAME   TYPE     DATA   AGE\na      Opaque   0      120m',
    ],
    [
      'kinds without columns',
      limitRangeKind,
      { metadata } as LimitRange,
      'NAME   CREATED AT\na      2026-01-01T00:00:00Z',
    ],
    [
      'events',
      eventKind,
      {
        metadata,
        lastTimestamp: '2026-01-01T01:59:00Z',
        type: 'Warning',
        reason: 'Failed',
        involvedObject: { kind: 'Pod', name: 'web' },
        message: 'no such image\n',
      } as Event,
      'LAST SEEN   TYPE      REASON   OBJECT    MESSAGE\n60s         Warning   Failed   pod/web   no such image',
    ],
  ])('prints %s as kubectl does', (_, kind, object, expected) => {
    expect(printed(tableFor(kind, [object], { now: NOW }))).toBe(expected)
  })

  it('describes its columns and carries metadata by default', () => {
    const table = tableFor(configMapKind, [configMap], { now: NOW, listMeta: { resourceVersion: '7' } })
    expect(table).toMatchObject({ kind: 'Table', apiVersion: 'meta.k8s.io/v1', metadata: { resourceVersion: '7' } })
    expect(table.columnDefinitions!.map(({ name, type, format, priority }) => [name, type, format, priority])).toEqual([
      ['Name', 'string', 'name', 0],
      ['Data', 'string', '', 0],
      ['Age', 'string', '', 0],
    ])
    expect(table.rows).toEqual([
      { cells: ['a', 2, '120m'], object: { kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1', metadata } },
    ])
  })

  it.each([
    ['None', undefined],
    ['Object', configMap],
    ['Metadata', { kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1beta1', metadata }],
  ] as const)('includes the object as %s', (includeObject, expected) => {
    const table = tableFor(configMapKind, [configMap], { now: NOW, includeObject, version: 'v1beta1' })
    expect(table.apiVersion).toBe('meta.k8s.io/v1beta1')
    expect(table.rows[0]?.object).toEqual(expected)
  })

  it('leaves the headings out of later watch events', () => {
    const table = tableFor(configMapKind, [configMap], { now: NOW, noHeaders: true })
    expect(table.columnDefinitions).toBeNull()
    expect(table.rows[0]?.cells).toHaveLength(3)
  })
})

describe('partial metadata', () => {
  it('keeps nothing but the metadata', () => {
    expect(partialObjectMetadata(configMap)).toEqual({
      kind: 'PartialObjectMetadata',
      apiVersion: 'meta.k8s.io/v1',
      metadata,
    })
  })
  it('comes in lists, in both versions', () => {
    expect(partialObjectMetadataList([configMap], { resourceVersion: '7', continue: 'x' }, 'v1beta1')).toEqual({
      kind: 'PartialObjectMetadataList',
      apiVersion: 'meta.k8s.io/v1beta1',
      metadata: { resourceVersion: '7', continue: 'x' },
      items: [{ kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1beta1', metadata }],
    })
  })
})
