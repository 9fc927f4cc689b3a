import type {
  ConfigMap,
  Container,
  EnvFromSource,
  EnvVarSource,
  FileKeySelector,
  Node,
  Pod,
  Secret,
} from '../../api/generated/core-v1.ts'
import { parseEnvFile } from './env-file.ts'
import { expand } from './expansion.ts'
import { type PodAddresses, podField, resourceField } from './field-values.ts'

/** Where ConfigMaps and Secrets of the pod's namespace come from; undefined: there is none. */
export interface ConfigSource {
  configMap(namespace: string, name: string): Promise<ConfigMap | undefined>
  secret(namespace: string, name: string): Promise<Secret | undefined>
}

export interface EnvironmentInput {
  readonly pod: Pod
  readonly container: Container
  readonly node: Node | undefined
  readonly addresses: PodAddresses
  readonly services: ReadonlyMap<string, string>
  readonly source: ConfigSource
  /** A file of one of the pod's volumes; undefined: there is none. */
  readonly volumeFile?: (volume: string, file: string) => Promise<string | undefined>
  /** Told the names that could not be used. */
  readonly onInvalidNames?: (names: readonly string[], from: string) => void
}

/** The variables of a container: its own, which win over those from whole objects, which win over those of services. */
export async function containerEnvironment(input: EnvironmentInput): Promise<Map<string, string>> {
  const { container, services } = input
  const variables = new Map<string, string>()
  for (const from of container.envFrom ?? []) await addAll(variables, from, input)
  const fromObjects = new Map(variables)
  for (const { name, value, valueFrom } of container.env ?? []) {
    const lookup = (other: string) => variables.get(other) ?? services.get(other)
    const found = valueFrom ? await variableOf(valueFrom, input) : expand(value ?? '', lookup)
    if (found === undefined) continue
    // What is set anew moves to where it is set, so that the order is the one that was written.
    if (!fromObjects.has(name)) variables.delete(name)
    variables.set(name, found)
  }
  for (const [name, value] of services) if (!variables.has(name)) variables.set(name, value)
  return variables
}

const PRINTABLE_WITHOUT_EQUALS = /^[ -<>-~]+$/

async function addAll(variables: Map<string, string>, from: EnvFromSource, input: EnvironmentInput): Promise<void> {
  const namespace = input.pod.metadata.namespace ?? ''
  const data = await dataOf(from, namespace, input.source)
  const invalid: string[] = []
  for (const key of Object.keys(data).sort()) {
    const name = (from.prefix ?? '') + key
    if (PRINTABLE_WITHOUT_EQUALS.test(name)) variables.set(name, data[key]!)
    else invalid.push(name)
  }
  const kind = from.configMapRef ? 'configMap' : 'secret'
  const object = (from.configMapRef ?? from.secretRef)?.name
  if (invalid.length > 0) input.onInvalidNames?.(invalid, `${kind} ${namespace}/${object}`)
}

async function dataOf(from: EnvFromSource, namespace: string, source: ConfigSource): Promise<Record<string, string>> {
  if (from.configMapRef) {
    const { name = '', optional } = from.configMapRef
    const found = await source.configMap(namespace, name)
    if (!found && !optional) throw new Error(`configmap "${name}" not found`)
    return found?.data ?? {}
  }
  const { name = '', optional } = from.secretRef ?? {}
  const found = await source.secret(namespace, name)
  if (!found && !optional) throw new Error(`secret "${name}" not found`)
  return Object.fromEntries(Object.entries(found?.data ?? {}).map(([key, text]) => [key, decode(text)]))
}

const decode = (text: string) => Buffer.from(text, 'base64').toString()

/** Undefined: it is optional and not there. */
async function variableOf(from: EnvVarSource, input: EnvironmentInput): Promise<string | undefined> {
  const { pod, container, node, addresses, source } = input
  const namespace = pod.metadata.namespace ?? ''
  if (from.fieldRef) return podField(pod, from.fieldRef.fieldPath, addresses)
  if (from.resourceFieldRef) {
    const { containerName } = from.resourceFieldRef
    return resourceField(containerName ? containerOf(pod, containerName) : container, from.resourceFieldRef, node)
  }
  if (from.configMapKeyRef) {
    const { name = '', key, optional } = from.configMapKeyRef
    const found = await source.configMap(namespace, name)
    if (!found && !optional) throw new Error(`configmap "${name}" not found`)
    const text = found?.data?.[key]
    if (text === undefined && !optional) throw new Error(`couldn't find key ${key} in ConfigMap ${namespace}/${name}`)
    return text
  }
  if (from.fileKeyRef) return fileVariable(from.fileKeyRef, input)
  if (!from.secretKeyRef) return undefined
  const { name = '', key, optional } = from.secretKeyRef
  const found = await source.secret(namespace, name)
  if (!found && !optional) throw new Error(`secret "${name}" not found`)
  const text = found?.data?.[key]
  if (text === undefined && !optional) throw new Error(`couldn't find key ${key} in Secret ${namespace}/${name}`)
  return text === undefined ? undefined : decode(text)
}

async function fileVariable({ volumeName, path, key, optional }: FileKeySelector, input: EnvironmentInput) {
  const text = await input.volumeFile?.(volumeName, path)
  if (text === undefined && !optional) throw new Error(`couldn't find env file "${path}" in volume "${volumeName}"`)
  const found = text === undefined ? undefined : parsed(text, path).get(key)
  if (found === undefined && !optional) throw new Error(`environment variable key "${key}" not found in file "${path}"`)
  return found
}

function parsed(text: string, path: string): Map<string, string> {
  try {
    return parseEnvFile(text)
  } catch (error) {
    throw new Error(`couldn't parse env file "${path}": ${(error as Error).message}`)
  }
}

export function containerOf({ spec }: Pod, name: string): Container {
  const all = [...(spec?.containers ?? []), ...(spec?.initContainers ?? [])]
  const found = all.find((container) => container.name === name)
  if (!found) throw new Error(`container ${name} not found`)
  return found
}
