import { describe } from 'vitest'

/** Network namespaces need root. On CI that is a failure of the machine; at a desk the tests say what they need. */
export function asRoot(name: string, tests: () => void): void {
  const isRoot = process.platform === 'linux' && process.getuid?.() === 0
  if (isRoot || process.env.CI) describe(name, tests)
  else describe.skip(`${name} (needs Linux and root: sudo npm test -- linux)`, tests)
}
