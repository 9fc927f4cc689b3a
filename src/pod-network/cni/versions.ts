/** Versions of the CNI specification, the oldest first. */
const VERSIONS = ['0.3.0', '0.3.1', '0.4.0', '1.0.0', '1.1.0']

export const isSupported = (version: string) => VERSIONS.includes(version)

export function newestSupported(offered: readonly string[]): string | undefined {
  return VERSIONS.findLast((version) => offered.includes(version))
}

export const isAtLeast = (version: string, least: string) => VERSIONS.indexOf(version) >= VERSIONS.indexOf(least)
