import { describe, expect, test } from 'vitest'
import type { Linux } from './linux.ts'
import { NAMESPACE_DIRECTORY } from './network-namespace.ts'
import { codeOf, scratch, scratchName } from './scratch.contract.ts'

export function networkNamespaceContract(name: string, open: () => Linux): void {
  describe(`network namespaces: ${name}`, () => {
    const start = scratch(open)

    test('live from create to delete', () => {
      const { linux, namespace } = start()
      const { name } = namespace()
      expect(linux.namespaces.list()).toContain(name)
      linux.namespaces.open(name)[Symbol.dispose]()
      linux.namespaces.delete(name)
      expect(linux.namespaces.list()).not.toContain(name)
      expect(codeOf(() => linux.namespaces.open(name))).toBe('ENOENT')
    })

    test.each(['', '.', '..', 'a/b', 'a\0b', 'x'.repeat(256)])('%j is no name', (bad) => {
      const { namespaces } = start().linux
      expect(codeOf(() => namespaces.create(bad))).toBe('EINVAL')
      expect(codeOf(() => namespaces.open(bad))).toBe('EINVAL')
      expect(codeOf(() => namespaces.delete(bad))).toBe('EINVAL')
    })

    test('a name is given once', () => {
      const { linux, namespace } = start()
      const { name } = namespace()
      expect(codeOf(() => linux.namespaces.create(name))).toBe('EEXIST')
      expect(linux.namespaces.list()).toContain(name)
    })

    test('one that somebody else made gets a name here, and lives on under it', () => {
      const { linux, namespace, use } = start()
      const theirs = namespace()
      const ours = scratchName()
      const path = `${NAMESPACE_DIRECTORY}/${theirs.name}`
      const adopted = use(linux.namespaces.adopt(ours, path))
      try {
        use(linux.openRtnetlink(theirs)).addLink({ kind: 'bridge', name: 'br0' })
        expect(use(linux.openRtnetlink(adopted)).link('br0')?.kind).toBe('bridge')
        expect(codeOf(() => linux.namespaces.adopt(ours, path))).toBe('EEXIST')
        expect(codeOf(() => linux.namespaces.adopt(scratchName(), `${NAMESPACE_DIRECTORY}/missing`))).toBe('ENOENT')
      } finally {
        linux.namespaces.delete(ours)
      }
    })

    test('what is not there cannot be deleted', () => {
      expect(codeOf(() => start().linux.namespaces.delete(scratchName()))).toBe('ENOENT')
    })

    test('work inside is synchronous', () => {
      const { linux, namespace } = start()
      const inside = namespace()
      expect(linux.namespaces.inNamespace(inside, () => 7)).toBe(7)
      expect(() => linux.namespaces.inNamespace(inside, () => Promise.resolve())).toThrow('must be synchronous')
      const failing = () => {
        throw new Error('inside')
      }
      expect(() => linux.namespaces.inNamespace(inside, failing)).toThrow('inside')
    })

    test('each has links of its own', () => {
      const { linux, namespace, use } = start()
      const one = use(linux.openRtnetlink(namespace()))
      const two = use(linux.openRtnetlink(namespace()))
      one.addLink({ kind: 'bridge', name: 'br0' })
      expect(one.links().map((link) => link.name)).toEqual(['lo', 'br0'])
      expect(two.links().map((link) => link.name)).toEqual(['lo'])
    })
  })
}
