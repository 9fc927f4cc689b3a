/** Network configurations as CNI wants them on disk: https://github.com/containernetworking/cni/blob/main/SPEC.md#section-1 */
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { isSupported, newestSupported } from './versions.ts'

/** One plugin's part, with everything that only the plugin understands. */
export interface PluginConfiguration {
  readonly type: string
  readonly capabilities?: Readonly<Record<string, boolean>>
  readonly [field: string]: unknown
}

/** A chain of plugins. */
export interface NetworkConfiguration {
  readonly name: string
  readonly cniVersion: string
  readonly disableCheck: boolean
  readonly plugins: readonly PluginConfiguration[]
}

const EXTENSIONS = ['.conf', '.conflist', '.json']

/**
 * The first file of the directory that is a configuration, by the order of names; undefined if there is none. `onProblem` is
 * told of files before it that are none.
 */
export function loadConfiguration(
  directory: string,
  onProblem: (file: string, problem: unknown) => void = () => {},
): NetworkConfiguration | undefined {
  for (const name of filesIn(directory)) {
    const file = path.join(directory, name)
    try {
      return parseConfiguration(readFileSync(file, 'utf8'))
    } catch (problem) {
      onProblem(file, problem)
    }
  }
  return undefined
}

function filesIn(directory: string): string[] {
  try {
    return readdirSync(directory)
      .filter((name) => EXTENSIONS.includes(path.extname(name)))
      .sort()
  } catch {
    return []
  }
}

/** A list of plugins, or one plugin alone as older files have it. */
export function parseConfiguration(text: string): NetworkConfiguration {
  const document: unknown = JSON.parse(text)
  if (!isObject(document)) throw new Error('a network configuration is a JSON object')
  const { name, disableCheck } = document
  if (typeof name !== 'string' || name === '') throw new Error('a network configuration needs a name')
  const plugins = 'plugins' in document ? document.plugins : [document]
  if (!Array.isArray(plugins) || plugins.length === 0) throw new Error(`network ${name} has no plugins`)
  if (!plugins.every(isPlugin))
    throw new Error(`network ${name}: every plugin needs a type, which is the name of a program`)
  // Some programs wrote it as a text.
  return {
    name,
    cniVersion: versionOf(document, name),
    disableCheck: disableCheck === true || disableCheck === 'true',
    plugins,
  }
}

function versionOf({ cniVersion = '0.1.0', cniVersions }: Record<string, unknown>, name: string): string {
  const offered = [cniVersion, ...(Array.isArray(cniVersions) ? cniVersions : [])].filter(
    (one) => typeof one === 'string',
  )
  const version = newestSupported(offered)
  if (version && isSupported(version)) return version
  throw new Error(`network ${name} wants CNI ${offered.join(', ')}, which is not supported`)
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** The type is looked for in directories: it must not lead out of them. */
const isPlugin = (value: unknown): value is PluginConfiguration =>
  isObject(value) && typeof value.type === 'string' && value.type !== '' && !value.type.includes('/')
