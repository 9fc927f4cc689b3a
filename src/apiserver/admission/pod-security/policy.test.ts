import { describe, expect, it } from 'vitest'
import { ALL_PRIVILEGED, LABEL_PREFIX, policyOf, policyText } from './policy.ts'

const labelled = (labels: Record<string, string>) =>
  Object.fromEntries(Object.entries(labels).map(([key, value]) => [LABEL_PREFIX + key, value]))
const read = (labels: Record<string, string>) => {
  const { policy, errors } = policyOf(labelled(labels), ALL_PRIVILEGED)
  const modes = [policy.enforce, policy.audit, policy.warn].map(policyText)
  return [...modes, ...errors.map(({ field, message }) => `${field}: ${message}`)]
}
const NONE = 'privileged:latest'

describe('policyOf', () => {
  it.each<[labels: Record<string, string>, expected: string[]]>([
    [{}, [NONE, NONE, NONE]],
    [{ audit: 'baseline', 'audit-version': 'v1.20' }, [NONE, 'baseline:v1.20', NONE]],
    [{ enforce: 'restricted' }, ['restricted:latest', NONE, 'restricted:latest']],
    [{ enforce: 'restricted', 'enforce-version': 'v1.30' }, ['restricted:v1.30', NONE, 'restricted:v1.30']],
    [{ enforce: 'restricted', warn: 'privileged' }, ['restricted:latest', NONE, NONE]],
    [
      { enforce: 'strict' },
      [
        'restricted:latest',
        NONE,
        NONE,
        'metadata.labels[pod-security.kubernetes.io/enforce]: Invalid value: "strict": must be one of privileged, baseline, restricted',
      ],
    ],
    [
      { warn: 'x', 'warn-version': '1.20' },
      [
        NONE,
        NONE,
        NONE,
        'metadata.labels[pod-security.kubernetes.io/warn]: Invalid value: "x": must be one of privileged, baseline, restricted',
        'metadata.labels[pod-security.kubernetes.io/warn-version]: Invalid value: "1.20": must be "latest" or "v1.x"',
      ],
    ],
  ])('%j', (labels, expected) => expect(read(labels)).toEqual(expected))
})
