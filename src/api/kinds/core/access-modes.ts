import { type FieldError, forbidden, notSupported } from '../../meta/field-error.ts'
import type { FieldPath } from '../../meta/field-path.ts'

/** How often a volume may be mounted, with the short form that is printed. */
const SHORT: Readonly<Record<string, string>> = {
  ReadWriteOnce: 'RWO',
  ReadOnlyMany: 'ROX',
  ReadWriteMany: 'RWX',
  ReadWriteOncePod: 'RWOP',
}
const SUPPORTED = Object.keys(SHORT).sort()
const isSupported = (mode: string) => Object.hasOwn(SHORT, mode)

export function printedAccessModes(modes: readonly string[] | undefined): string {
  if (!modes) return ''
  return Object.keys(SHORT)
    .filter((mode) => modes.includes(mode))
    .map((mode) => SHORT[mode])
    .join(',')
}

export function validateAccessModes(modes: readonly string[], path: FieldPath): FieldError[] {
  const errors = modes.filter((mode) => !isSupported(mode)).map((mode) => notSupported(path, mode, SUPPORTED))
  const others = modes.some((mode) => mode !== 'ReadWriteOncePod' && isSupported(mode))
  if (others && modes.includes('ReadWriteOncePod'))
    errors.push(forbidden(path, 'may not use ReadWriteOncePod with other access modes'))
  return errors
}
