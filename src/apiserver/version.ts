import { KUBERNETES_VERSION } from '../api/version.ts'

/** What `/version` answers. */
export function versionInfo(): Readonly<Record<string, string>> {
  const [major = '', minor = ''] = KUBERNETES_VERSION.slice(1).split('.')
  return {
    major,
    minor,
    emulationMajor: major,
    emulationMinor: minor,
    minCompatibilityMajor: major,
    minCompatibilityMinor: String(Number(minor) - 1),
    gitVersion: `${KUBERNETES_VERSION}+sampan`,
    gitCommit: '',
    gitTreeState: 'clean',
    buildDate: '2026-04-01T00:00:00Z',
    goVersion: 'none',
    compiler: 'V8',
    platform: `${process.platform}/${process.arch === 'x64' ? 'amd64' : process.arch}`,
  }
}
