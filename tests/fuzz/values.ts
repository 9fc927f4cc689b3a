import type { Random } from '../../src/base/random.ts'
import type { Json } from '../tools/json.ts'

/** Values for a schema: mostly right, sometimes wrong in the ways people and attackers are wrong. */
export class Values {
  readonly #random: Random
  readonly #schemas: Record<string, Json>
  /** How often a value is broken, from 0 to 1. */
  readonly #wildness: number

  constructor(random: Random, schemas: Record<string, Json>, wildness: number) {
    this.#random = random
    this.#schemas = schemas
    this.#wildness = wildness
  }

  chance(probability: number): boolean {
    return this.#random.next() < probability
  }

  pick<T>(values: readonly T[]): T {
    return values[Math.floor(this.#random.next() * values.length)] as T
  }

  of(schema: Json | undefined, depth = 0): unknown {
    if (this.chance(this.#wildness)) return this.pick(WRONG)
    const resolved = this.#resolve(schema)
    switch (resolved.type) {
      case 'object':
        return this.#object(resolved, depth)
      case 'array':
        return depth > 7
          ? []
          : Array.from({ length: this.pick([0, 1, 1, 2]) }, () => this.of(resolved.items as Json, depth + 1))
      case 'integer':
      case 'number':
        return this.pick([0, 1, 2, 80, 443, 8080, -1, 65536, 2147483648])
      case 'boolean':
        return this.chance(0.5)
      case 'string':
        return this.#text(resolved)
      default:
        return this.pick(['1', 1, '100Mi', 'a', {}, '50%'])
    }
  }

  #resolve(schema: Json | undefined): Json {
    let current = schema ?? {}
    for (let i = 0; i < 8; i++) {
      const single = (current.allOf as Json[] | undefined)?.[0] ?? current
      const reference = single.$ref as string | undefined
      if (!reference) return single
      current = this.#schemas[reference.slice(reference.lastIndexOf('/') + 1)] ?? {}
    }
    return current
  }

  #object(schema: Json, depth: number): Json {
    const result: Json = {}
    const required = new Set((schema.required ?? []) as string[])
    for (const [name, property] of Object.entries((schema.properties ?? {}) as Record<string, Json>)) {
      const likely = required.has(name) ? 0.97 : depth > 6 ? 0.01 : 0.6 / (depth + 1)
      if (this.chance(likely)) result[name] = this.of(property, depth + 1)
    }
    if (schema.additionalProperties) {
      for (let i = this.pick([0, 1, 2]); i > 0; i--)
        result[this.pick(KEYS)] = this.of(schema.additionalProperties as Json, depth + 1)
    }
    if (this.chance(this.#wildness)) result[this.pick(STRANGE_KEYS)] = this.pick(WRONG)
    return result
  }

  #text(schema: Json): string {
    const choices = schema.enum as string[] | undefined
    if (choices && this.chance(0.8)) return this.pick(choices)
    if (schema.format === 'date-time' && this.chance(0.8)) return '2026-01-02T03:04:05Z'
    if (schema.format === 'byte' && this.chance(0.8)) return 'aGVsbG8='
    return this.pick(TEXTS)
  }
}

const KEYS = ['a', 'b', 'app', 'example.com/key', 'cpu', 'memory', 'x'.repeat(300)]
const STRANGE_KEYS = [
  '__proto__',
  'constructor',
  'prototype',
  'toString',
  '$patch',
  '$setElementOrder/containers',
  '$retainKeys',
  '',
  'a.b',
  '日本',
]
const TEXTS = [
  'a',
  'web',
  'nginx:1',
  '10.0.0.1',
  'fd00::1',
  'example.com',
  'TCP',
  'Always',
  'default',
  '100m',
  '1Gi',
  '',
  ' ',
  'A_B',
  'x'.repeat(400),
  '日本語',
  '\u0000',
  '../..',
  '%',
  '*',
  '{{',
  '$(',
  '1e9999',
  '-1',
]

/** Shapes that belong nowhere. */
const WRONG: readonly unknown[] = [
  null,
  true,
  -1,
  1.5,
  1e308,
  Number.MAX_SAFE_INTEGER + 1,
  '',
  'text',
  [],
  [null],
  [[[[]]]],
  {},
  { a: { b: { c: null } } },
  'x'.repeat(5_000),
]
