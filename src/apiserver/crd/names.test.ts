import { expect, it, vi } from 'vitest'
import { findCondition } from '../../api/meta/conditions.ts'
import { Bench, DEFINITION_TYPE, definitionOf } from './custom-resources.fixture.ts'
import { GroupNames } from './names.ts'

it('knows the names that others have', () => {
  const names = new GroupNames()
  names.set('a', { plural: 'apples', singular: 'apple', shortNames: ['fruit'], kind: 'Apple' }, false)
  names.set('b', { plural: 'pears', kind: 'Pear', listKind: 'PearList' }, true)
  expect(names.usedByOthers('b').resources.has('fruit')).toBe(true)
  expect(names.usedByOthers('a').resources.has('fruit')).toBe(false)
  expect(names.usedByOthers('a').kinds.has('PearList')).toBe(true)
  expect(names.waiting()).toEqual(['b'])
  names.set('a', { plural: 'apples', kind: 'Apple' }, false)
  expect(names.usedByOthers('b').resources.has('fruit')).toBe(false)
  names.delete('b')
  expect([names.waiting(), names.size]).toEqual([[], 1])
  expect(names.usedByOthers('a').kinds.has('PearList')).toBe(false)
})

it('several definitions that wait for the same name wait in peace, and one gets it', async () => {
  await using bench = await Bench.start()
  const plurals = ['apples', 'pears', 'plums']
  for (const plural of plurals)
    await bench.define(definitionOf({ plural, kind: plural, names: { shortNames: ['fruit'] } }))
  const accepted = async (plural: string) => {
    const { status } = await bench.readDefinition(`${plural}.example.com`)
    const { conditions } = status as { conditions?: { type: string; status: string }[] }
    return findCondition(conditions, 'NamesAccepted')?.status
  }
  const all = (found: string[]) =>
    vi.waitFor(async () => expect(await Promise.all(plurals.map(accepted))).toEqual(found))
  await all(['True', 'False', 'False'])
  // Whoever waits does nothing: no version of it is written any more.
  const before = await bench.readDefinition('pears.example.com')
  await new Promise((resolve) => setTimeout(resolve, 50))
  expect((await bench.readDefinition('pears.example.com')).metadata.resourceVersion).toBe(
    before.metadata.resourceVersion,
  )
  await bench.call({ verb: 'delete', resource: DEFINITION_TYPE, name: 'apples.example.com' })
  plurals.shift()
  await vi.waitFor(async () => expect((await Promise.all(plurals.map(accepted))).sort()).toEqual(['False', 'True']))
})
