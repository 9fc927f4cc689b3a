import { describe, expect, test } from 'vitest'
import { type Random, seededRandom } from '../../base/random.ts'
import type { Kind } from '../kind.ts'
import type { KubernetesObject } from '../meta/object.ts'
import type { Schema } from '../schema/schema.ts'
import { workloadKinds } from './workload-kinds.ts'

/** Values that mean something somewhere, so that random objects get past the first check. */
const TEXTS = [
  '',
  'a',
  'web',
  'Always',
  'Never',
  'RollingUpdate',
  'Indexed',
  '10Mi',
  '25%',
  'In',
  'Exists',
  '-',
  '..',
  '/x',
  'A b',
  'é',
  '__proto__',
  '2026-01-02T03:04:05Z',
]
const NUMBERS = [0, 1, -1, 2, 80, 443, 512, 100_000, 2147483647, -2147483648]
const ROUNDS = 60
const MAX_DEPTH = 12

const pick = <T>(random: Random, values: readonly T[]): T => values[Math.floor(random.next() * values.length)]!

/** Some object of this shape: any field may be missing, any list empty. */
function anything(schema: Schema, random: Random, depth = 0): unknown {
  if (schema.intOrString) return random.next() < 0.5 ? pick(random, NUMBERS) : pick(random, TEXTS)
  if (schema.preserveUnknownFields) return pick<unknown>(random, [{}, { a: 1 }, [], 'x', 1])
  switch (schema.type) {
    case 'array':
      return Array.from({ length: Math.floor(random.next() * 3) }, () =>
        anything(schema.items ?? {}, random, depth + 1),
      )
    case 'string':
      return pick(random, TEXTS)
    case 'integer':
    case 'number':
      return pick(random, NUMBERS)
    case 'boolean':
      return random.next() < 0.5
    default:
      return anyObject(schema, random, depth)
  }
}

function anyObject(schema: Schema, random: Random, depth: number): Record<string, unknown> {
  const object: Record<string, unknown> = {}
  if (schema.additionalProperties)
    for (const key of TEXTS.slice(0, Math.floor(random.next() * 4)))
      object[key] = anything(schema.additionalProperties, random, depth + 1)
  const chance = depth < 2 ? 0.9 : depth > MAX_DEPTH ? 0 : 0.45
  for (const [field, property] of Object.entries(schema.properties ?? {}))
    if (random.next() < chance) object[field] = anything(property, random, depth + 1)
  return object
}

function anyOf(kind: Kind, random: Random): KubernetesObject {
  const object = anyObject(kind.schema, random, 0) as unknown as KubernetesObject
  object.metadata = { ...object.metadata, name: 'web', uid: 'u1' }
  return object
}

/** The registry's way, with every hook a kind has. */
function passThrough(kind: Kind, draft: KubernetesObject, other: KubernetesObject): unknown[] {
  kind.defaults?.(draft)
  kind.defaults?.(other)
  const created = structuredClone(draft)
  kind.prepareCreate?.(created)
  const errors: unknown[] = [...(kind.validate?.(created) ?? []), ...(kind.warnings?.(created, undefined) ?? [])]
  const updated = structuredClone(other)
  kind.prepareUpdate?.(updated, created)
  errors.push(...(kind.validate?.(updated) ?? []), ...(kind.validateUpdate?.(updated, created) ?? []))
  kind.warnings?.(updated, created)
  for (const door of Object.values(kind.subresources)) {
    const written = structuredClone(other)
    if (door.type === 'part') {
      door.prepareUpdate(written, draft)
      errors.push(...(door.validateUpdate?.(written, draft) ?? []))
    } else if (door.type === 'scale') {
      door.setReplicas(written, 3)
      errors.push(door.replicas(written), door.statusReplicas(written), door.selector(written))
    }
  }
  for (const column of kind.columns) errors.push(column.value(draft, 0))
  for (const read of Object.values(kind.selectableFields)) expect(typeof read(draft)).toBe('string')
  kind.gracePeriod?.(draft, undefined)
  kind.conversion?.toStorage(structuredClone(draft))
  return errors
}

describe('no hook throws on any object of the right shape', () => {
  test.each(workloadKinds.map((kind) => [`${kind.group}/${kind.version} ${kind.kind}`, kind] as const))(
    '%s',
    (name, kind) => {
      const random = seededRandom(name.length)
      for (let round = 0; round < ROUNDS; round++) passThrough(kind, anyOf(kind, random), anyOf(kind, random))
    },
  )
})

describe('hooks leave shared objects alone', () => {
  const frozen = <T>(value: T): T => {
    if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
      Object.freeze(value)
      Object.values(value).forEach(frozen)
    }
    return value
  }
  test.each(workloadKinds.map((kind) => [`${kind.group}/${kind.version} ${kind.kind}`, kind] as const))(
    '%s',
    (name, kind) => {
      const random = seededRandom(name.length + 1)
      for (let round = 0; round < 20; round++) {
        const old = anyOf(kind, random)
        kind.defaults?.(old)
        frozen(old)
        const draft = anyOf(kind, random)
        kind.defaults?.(draft)
        kind.prepareUpdate?.(draft, old)
        for (const door of Object.values(kind.subresources))
          if (door.type === 'part') {
            const written = anyOf(kind, random)
            door.prepareUpdate(written, old)
            frozen(written)
            door.validateUpdate?.(written, old)
          }
        frozen(draft)
        kind.validate?.(draft)
        kind.validateUpdate?.(draft, old)
        kind.warnings?.(draft, old)
      }
    },
  )
})

test('defaults applied twice change nothing more', () => {
  const random = seededRandom(7)
  for (const kind of workloadKinds) {
    for (let round = 0; round < 20; round++) {
      const once = anyOf(kind, random)
      kind.defaults?.(once)
      const twice = structuredClone(once)
      kind.defaults?.(twice)
      expect(twice).toEqual(once)
    }
  }
})

test('each kind is complete', () => {
  for (const kind of workloadKinds) {
    if (kind.verbs.length > 1) expect(kind.columns[0]?.name).toBe('Name')
    expect(kind.schema.definition).toMatch(new RegExp(`\\.${kind.kind}$`))
  }
})
