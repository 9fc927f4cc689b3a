import type { Functions } from '../library.ts'
import { CelError, type OpaqueValue } from '../values.ts'

const NUMBER = '(0|[1-9]\\d*)'
const SEMVER = new RegExp(
  `^${NUMBER}\\.${NUMBER}\\.${NUMBER}(?:-([0-9A-Za-z-]+(?:\\.[0-9A-Za-z-]+)*))?(?:\\+([0-9A-Za-z-]+(?:\\.[0-9A-Za-z-]+)*))?$`,
)

/** A version as semver.org has it; the build is no part of its order. */
class SemverValue implements OpaqueValue {
  readonly celKind = 'kubernetes.Semver'
  readonly numbers: readonly bigint[]
  readonly prerelease: readonly string[]

  constructor(numbers: readonly bigint[], prerelease: readonly string[]) {
    this.numbers = numbers
    this.prerelease = prerelease
  }

  get key(): string {
    return this.numbers.join('.') + (this.prerelease.length > 0 ? `-${this.prerelease.join('.')}` : '')
  }
}

/** `v1.02` -> `1.2.0` */
function normalized(text: string): string {
  const [, numbers = '', rest = ''] = /^v?([\d.]*)(.*)$/s.exec(text) ?? []
  const parts = numbers.split('.').map((part) => part.replace(/^0+(?=\d)/, ''))
  while (parts.length < 3) parts.push('0')
  return parts.join('.') + rest
}

function read(text: string, normalize = false): SemverValue | undefined {
  const match = SEMVER.exec(normalize ? normalized(text) : text)
  if (!match) return undefined
  const prerelease = match[4]?.split('.') ?? []
  if (prerelease.some((part) => /^0\d+$/.test(part))) return undefined
  return new SemverValue([match[1]!, match[2]!, match[3]!].map(BigInt), prerelease)
}

function semver(text: string, normalize?: boolean): SemverValue {
  const version = read(text, normalize === true)
  if (!version) throw new CelError(`No Major.Minor.Patch elements found in ${JSON.stringify(text)}`)
  return version
}

function compare(a: SemverValue, b: SemverValue): number {
  for (let i = 0; i < 3; i++) {
    const [x, y] = [a.numbers[i]!, b.numbers[i]!]
    if (x !== y) return x < y ? -1 : 1
  }
  // A prerelease comes before what it leads to.
  if (a.prerelease.length === 0 || b.prerelease.length === 0) return b.prerelease.length - a.prerelease.length
  for (let i = 0; i < Math.min(a.prerelease.length, b.prerelease.length); i++) {
    const order = compareParts(a.prerelease[i]!, b.prerelease[i]!)
    if (order !== 0) return order
  }
  return a.prerelease.length - b.prerelease.length
}

function compareParts(a: string, b: string): number {
  const [x, y] = [/^\d+$/.test(a), /^\d+$/.test(b)]
  if (x && y) return Number(a) - Number(b)
  if (x !== y) return x ? -1 : 1
  return a < b ? -1 : a > b ? 1 : 0
}

export const semvers: Functions = {
  'semver(string): kubernetes.Semver': (text: string) => semver(text),
  'semver(string, bool): kubernetes.Semver': semver,
  'isSemver(string): bool': (text: string) => read(text) !== undefined,
  'isSemver(string, bool): bool': (text: string, normalize: boolean) => read(text, normalize) !== undefined,
  'kubernetes.Semver.major(): int': ({ numbers }: SemverValue) => numbers[0]!,
  'kubernetes.Semver.minor(): int': ({ numbers }: SemverValue) => numbers[1]!,
  'kubernetes.Semver.patch(): int': ({ numbers }: SemverValue) => numbers[2]!,
  'kubernetes.Semver.isGreaterThan(kubernetes.Semver): bool': (a: SemverValue, b: SemverValue) => compare(a, b) > 0,
  'kubernetes.Semver.isLessThan(kubernetes.Semver): bool': (a: SemverValue, b: SemverValue) => compare(a, b) < 0,
  'kubernetes.Semver.compareTo(kubernetes.Semver): int': (a: SemverValue, b: SemverValue) =>
    BigInt(Math.sign(compare(a, b))),
}
