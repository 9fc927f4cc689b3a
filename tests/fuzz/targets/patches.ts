import assert from 'node:assert'
import { ApiError } from '../../../src/api/meta/api-error.ts'
import { builtinSchema } from '../../../src/api/schema/builtin.ts'
import { jsonPatch } from '../../../src/patch/json-patch.ts'
import { mergePatch } from '../../../src/patch/merge-patch.ts'
import { strategicMergePatch } from '../../../src/patch/strategic-merge-patch.ts'
import { attempt, type FuzzTarget, type Outcome } from '../engine/target.ts'

const pod = builtinSchema('io.k8s.api.core.v1.Pod')
const draft = () => ({
  metadata: { name: 'web', labels: { app: 'web' }, finalizers: ['a', 'b'] },
  spec: { containers: [{ name: 'c', image: 'i', ports: [{ containerPort: 80 }], env: [{ name: 'A', value: '1' }] }] },
})

/** Patches of a Pod: JSON (RFC 6902), merge (RFC 7386) and strategic merge. */
export const target: FuzzTarget = {
  steps: { fixed: 20_000, perByte: 2000 },
  maxBytes: 2048,
  dictionary: [
    '{"op":"add","path":"',
    '{"op":"copy","from":"',
    '{"op":"move","from":"',
    '{"op":"test","path":"',
    '"value":',
    '/metadata/labels/',
    '/spec/containers/-',
    '/0',
    '~0',
    '~1',
    '"$patch":"delete"',
    '"$patch":"replace"',
    '"$setElementOrder/containers":',
    '"$deleteFromPrimitiveList/finalizers":',
    '"$retainKeys":',
    '"containers":[{"name":"c"',
    '"__proto__":',
    '"constructor":',
    'null',
  ],
  run(input) {
    const patch = attempt(() => JSON.parse(input.toString()) as unknown, SyntaxError)
    if ('error' in patch) return undefined
    const text = JSON.stringify(patch.value)
    const results = [
      attempt(() => jsonPatch(draft(), patch.value, pod), ApiError),
      attempt(() => mergePatch(draft(), patch.value), ApiError),
      attempt(() => strategicMergePatch(draft(), patch.value, pod), ApiError),
    ]
    assert.strictEqual(JSON.stringify(patch.value), text, 'the patch was changed')
    return results.map(serialized)
  },
}

function serialized(outcome: Outcome<object>): string {
  assert.strictEqual(({} as Record<string, unknown>).polluted, undefined)
  if (!('value' in outcome)) return outcome.error
  assert.strictEqual(Object.getPrototypeOf(outcome.value), Object.prototype)
  return JSON.stringify(outcome.value)
}
