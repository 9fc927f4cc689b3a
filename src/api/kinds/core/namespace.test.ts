import { describe, expect, it } from 'vitest'
import type { Namespace } from '../../generated/core-v1.ts'
import type { StatusSubresource } from '../../kind.ts'
import { namespaceKind } from './namespace.ts'
import { shownErrors } from './rules.contract.ts'

const door = (name: string) => namespaceKind.subresources[name] as StatusSubresource<Namespace>

describe('Namespace', () => {
  it('starts active, with its finalizer and the label of its name', () => {
    const draft: Namespace = { metadata: { name: 'a', labels: { x: 'y', 'kubernetes.io/metadata.name': 'forged' } } }
    namespaceKind.defaults?.(draft)
    namespaceKind.prepareCreate?.(draft)
    expect(draft).toEqual({
      metadata: { name: 'a', labels: { x: 'y', 'kubernetes.io/metadata.name': 'a' } },
      spec: { finalizers: ['kubernetes'] },
      status: { phase: 'Active' },
    })
  })

  it('keeps its finalizers on an ordinary update and changes them through finalize', () => {
    const old: Namespace = { metadata: {}, spec: { finalizers: ['kubernetes'] }, status: { phase: 'Terminating' } }
    const draft: Namespace = { metadata: {}, spec: { finalizers: [] }, status: { phase: 'Active' } }
    const finalized = structuredClone(draft)
    namespaceKind.prepareUpdate?.(draft, old)
    expect(draft).toEqual(old)
    door('finalize').prepareUpdate(finalized, old)
    expect(finalized).toEqual({ ...old, spec: { finalizers: [] } })
  })

  it.each([
    [['kubernetes', 'example.com/x'], []],
    [
      ['mine'],
      [
        'spec.finalizers[0]: Invalid value: "mine": name is neither a standard finalizer name nor is it fully qualified',
      ],
    ],
  ])('finalizers %j', (finalizers, errors) => {
    const namespace: Namespace = { metadata: {}, spec: { finalizers } }
    expect(shownErrors(door('finalize').validateUpdate?.(namespace, namespace) ?? [])).toEqual(errors)
  })

  it.each([
    [undefined, 'Active', []],
    [
      undefined,
      'Terminating',
      [`status.Phase: Invalid value: "Terminating": may only be 'Active' if \`deletionTimestamp\` is empty`],
    ],
    ['2026-01-01T00:00:00Z', 'Terminating', []],
    [
      '2026-01-01T00:00:00Z',
      'Active',
      [`status.Phase: Invalid value: "Active": may only be 'Terminating' if \`deletionTimestamp\` is not empty`],
    ],
  ])('deleted at %s with phase %s', (deletionTimestamp, phase, errors) => {
    const namespace: Namespace = { metadata: deletionTimestamp ? { deletionTimestamp } : {}, status: { phase } }
    expect(shownErrors(door('status').validateUpdate?.(namespace, namespace) ?? [])).toEqual(errors)
  })

  it('has names that are DNS labels', () => {
    expect(namespaceKind.validateName?.('a.b', false)).not.toEqual([])
    expect(namespaceKind.validateName?.('a-b', false)).toEqual([])
  })
})
