import { describe, expect, it } from 'vitest'
import type { Kind } from '../../api/kind.ts'
import { podKind } from '../../api/kinds/core/pod/kind.ts'
import { ingressKind } from '../../api/kinds/networking/ingress/kind.ts'
import { AdmissionChain } from './chain.ts'
import type { AdmissionPlugin } from './plugin.ts'

const requestFor = (kind: Kind) => ({
  operation: 'CREATE' as const,
  kind,
  subresource: '',
  namespace: 'n',
  name: 'o',
  draft: { metadata: {} },
  old: undefined,
  user: { name: 'u', groups: [] },
  dryRun: false,
  warn: () => {},
})

describe('AdmissionChain', () => {
  it.each<[kind: Kind, expected: string]>([
    [podKind as Kind, 'admit pods, admit slow, admit all, validate pods, validate all'],
    [ingressKind as Kind, 'admit ingresses, admit slow, admit all, validate ingresses, validate all'],
  ])('asks in order who has a say', async (kind, expected) => {
    const asked: string[] = []
    const plugin = (name: string, resources?: readonly string[]): AdmissionPlugin => ({
      name,
      ...(resources && { resources }),
      admit: () => void asked.push(`admit ${name}`),
      validate: () => void asked.push(`validate ${name}`),
    })
    const slow: AdmissionPlugin = {
      name: 'slow',
      async admit() {
        await new Promise(setImmediate)
        asked.push('admit slow')
      },
    }
    const chain = new AdmissionChain([
      plugin('pods', ['pods']),
      plugin('ingresses', ['ingresses.networking.k8s.io']),
      plugin('nobody', ['pods.example.com']),
      slow,
      plugin('all'),
    ])
    await chain.admit(requestFor(kind))
    await chain.validate(requestFor(kind))
    expect(asked.join(', ')).toBe(expected)
  })

  it('does not wait where nobody has to', () => {
    const chain = new AdmissionChain([{ name: 'quick', admit: () => {}, validate: () => {} }])
    expect(chain.admit(requestFor(podKind as Kind))).toBeUndefined()
    expect(chain.validate(requestFor(podKind as Kind))).toBeUndefined()
  })
})
