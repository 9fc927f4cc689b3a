import type { IndexEntry } from './documents.ts'

export interface Platform {
  readonly os: string
  readonly architecture: string
  readonly variant?: string
}

const ARCHITECTURES: Readonly<Record<string, string>> = { x64: 'amd64', ia32: '386', arm64: 'arm64', arm: 'arm' }

export const ownPlatform = (): Platform => ({ os: 'linux', architecture: ARCHITECTURES[process.arch] ?? process.arch })

const NEWEST_VARIANT: Readonly<Record<string, readonly string[]>> = {
  arm64: ['v8', ''],
  arm: ['v7', 'v6', 'v5', ''],
  amd64: ['', 'v1'],
}

/** The manifest of an index that fits this machine; attestations and other platforms never do. */
export function chooseManifest(entries: readonly IndexEntry[], wanted: Platform): IndexEntry | undefined {
  const order = wanted.variant === undefined ? (NEWEST_VARIANT[wanted.architecture] ?? ['']) : [wanted.variant, '']
  const fitting = entries.filter(({ platform }) => platform !== undefined && fits(platform, wanted))
  for (const variant of order) {
    const found = fitting.find(({ platform }) => (platform?.variant ?? '') === variant)
    if (found) return found
  }
  // A layout of one image often says nothing about its platform; the configuration will.
  return entries.length === 1 && entries[0]!.platform === undefined ? entries[0] : undefined
}

/** A configuration that names no platform is taken at its word that it does not matter. */
export const fits = (offered: Partial<Platform>, wanted: Platform) =>
  (offered.os || wanted.os) === wanted.os && (offered.architecture || wanted.architecture) === wanted.architecture
