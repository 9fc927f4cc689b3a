import { describe } from 'vitest'

/** Network namespaces need root. On CI that is a failure of the machine; at a desk the tests say what they need. */
export function asRootEach<T>(
  rows: readonly (readonly [string, T])[],
  name: string,
  tests: (name: string, row: T) => void,
): void {
  for (const [what, row] of rows) asRoot(`${name} ${what}`, () => tests(what, row))
}

/** The same for one. */
export function asRoot(name: string, tests: () => void): void {
  const isRoot = process.platform === 'linux' && process.getuid?.() === 0
  if (isRoot || process.env.CI) describe(name, tests)
  else describe.skip(`${name} (needs Linux and root: sudo npm test -- linux)`, tests)
}
