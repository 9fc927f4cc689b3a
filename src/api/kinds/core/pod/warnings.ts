import type { Container, ContainerPort, Pod, PodSpec, PodTemplateSpec } from '../../../generated/core-v1.ts'
import type { ObjectMeta } from '../../../meta/object.ts'
import { seenBefore } from '../../../meta/seen-before.ts'
import { LABEL } from '../../../meta/well-known.ts'

const DEPRECATED_NODE_LABELS: ReadonlyMap<string, string> = new Map([
  [LABEL.betaArch, 'deprecated since v1.14; use "kubernetes.io/arch" instead'],
  [LABEL.betaOs, 'deprecated since v1.14; use "kubernetes.io/os" instead'],
  [LABEL.betaRegion, 'deprecated since v1.17; use "topology.kubernetes.io/region" instead'],
  [LABEL.betaZone, 'deprecated since v1.17; use "topology.kubernetes.io/zone" instead'],
  [LABEL.betaInstanceType, 'deprecated since v1.17; use "node.kubernetes.io/instance-type" instead'],
  [LABEL.master, 'use "node-role.kubernetes.io/control-plane" instead'],
])
const DEPRECATED_VOLUMES: ReadonlyMap<string, string> = new Map([
  ['gitRepo', 'deprecated in v1.11, and disabled by default in v1.33+'],
  ['photonPersistentDisk', 'deprecated in v1.11, non-functional in v1.16+'],
  ['scaleIO', 'deprecated in v1.16, non-functional in v1.22+'],
  ['flocker', 'deprecated in v1.22, non-functional in v1.25+'],
  ['storageos', 'deprecated in v1.22, non-functional in v1.25+'],
  ['quobyte', 'deprecated in v1.22, non-functional in v1.25+'],
  ['glusterfs', 'deprecated in v1.25, non-functional in v1.26+'],
  ['cephfs', 'deprecated in v1.28, non-functional in v1.31+'],
  ['rbd', 'deprecated in v1.28, non-functional in v1.31+'],
])
const NO_SELECTOR = 'a null labelSelector results in matching no pod'

/** Hints that a pod is not what its author thinks. Only for a new one: people seldom edit pods. */
export function podWarnings(pod: Pod, old?: Pod): string[] {
  return pod.spec && !old ? specWarnings(pod.spec, pod.metadata, '') : []
}

/** The same for the template of a workload. `path` is where it stands. */
export function podTemplateWarnings(template: PodTemplateSpec | undefined, path = 'spec.template'): string[] {
  return template?.spec ? specWarnings(template.spec, template.metadata, `${path}.`) : []
}

interface Workload {
  metadata: ObjectMeta
  spec?: { template?: PodTemplateSpec }
}

/** For kinds with their template at `spec.template`: on creation, and when what is wanted changed. */
export function workloadWarnings(object: Workload, old?: Workload): string[] {
  const unchanged = old !== undefined && old.metadata.generation === object.metadata.generation
  return unchanged ? [] : podTemplateWarnings(object.spec?.template)
}

function specWarnings(spec: PodSpec, metadata: ObjectMeta | undefined, prefix: string): string[] {
  const warnings: string[] = []
  const path = `${prefix}spec`
  for (const label in spec.nodeSelector) {
    const text = DEPRECATED_NODE_LABELS.get(label)
    if (text) warnings.push(`${path}.nodeSelector[${label}]: ${text}`)
  }
  annotationWarnings(metadata, `${prefix}metadata.annotations`, warnings)
  spec.volumes?.forEach((volume, i) => {
    for (const field in volume) {
      const text = DEPRECATED_VOLUMES.get(field)
      if (text) warnings.push(`${path}.volumes[${i}].${field}: ${text}`)
    }
  })
  nameWarnings(spec, path, warnings)
  for (const field of ['initContainers', 'containers'] as const) {
    spec[field]?.forEach((container, i) => {
      resourceWarnings(container, `${path}.${field}[${i}]`, warnings)
      envWarnings(container, `${path}.${field}[${i}]`, warnings)
    })
  }
  portWarnings(spec, path, warnings)
  if ((spec.terminationGracePeriodSeconds ?? 0) < 0) {
    const text = 'must be >= 0; negative values are invalid and will be treated as 1'
    warnings.push(`${path}.terminationGracePeriodSeconds: ${text}`)
  }
  selectorWarnings(spec, path, warnings)
  return warnings
}

function annotationWarnings(metadata: ObjectMeta | undefined, path: string, warnings: string[]): void {
  for (const key in metadata?.annotations) {
    if (key.startsWith('container.apparmor.security.beta.kubernetes.io/'))
      warnings.push(`${path}[${key}]: deprecated since v1.30; use the "appArmorProfile" field instead`)
    if (key.includes('seccomp.security.alpha.kubernetes.io/'))
      warnings.push(`${path}[${key}]: non-functional in v1.27+; use the "seccompProfile" field instead`)
  }
}

function nameWarnings(spec: PodSpec, path: string, warnings: string[]): void {
  const isIpRepeated = seenBefore<string | undefined>()
  spec.hostAliases?.forEach((alias, i) => {
    if (isIpRepeated(alias.ip)) warnings.push(`${path}.hostAliases[${i}].ip: duplicate ip "${alias.ip}"`)
  })
  const isNameRepeated = seenBefore<string>()
  spec.imagePullSecrets?.forEach((secret, i) => {
    const at = `${path}.imagePullSecrets[${i}].name`
    if (!secret.name) warnings.push(`${at}: invalid empty name ""`)
    else if (isNameRepeated(secret.name)) warnings.push(`${at}: duplicate name "${secret.name}"`)
  })
}

/** 100m of memory is a tenth of a byte: someone meant 100Mi. */
function resourceWarnings(container: Container, path: string, warnings: string[]): void {
  for (const name of ['memory', 'ephemeral-storage']) {
    for (const field of ['limits', 'requests'] as const) {
      const amount = container.resources?.[field]?.[name]
      if (typeof amount !== 'string' || !/^\d+m$/.test(amount)) continue
      const text = `fractional byte value "${amount}" is invalid, must be an integer`
      warnings.push(`${path}.resources.${field}[${name}]: ${text}`)
    }
  }
}

/** The later of two variables of one name wins; that is meant only where it builds on the former. */
function envWarnings(container: Container, path: string, warnings: string[]): void {
  const { env } = container
  if (!env || env.length < 2) return
  const seen = new Set<string>()
  env.forEach((variable, i) => {
    const reference = `$(${variable.name})`
    const extended = variable.value?.includes(reference) && variable.value !== reference && !variable.valueFrom
    if (seen.has(variable.name) && !extended)
      warnings.push(
        `${path}.env[${i}]: hides previous definition of "${variable.name}", which may be dropped when using apply`,
      )
    seen.add(variable.name)
  })
}

/** How many ports of one number a port is compared with, and up to how many warnings: a client sees the first few. */
const COMPARED_PORTS = 10
const MAX_WARNINGS = 100

function portWarnings(spec: PodSpec, path: string, warnings: string[]): void {
  const byPort = new Map<string, { at: string; port: ContainerPort }[]>()
  const byName = new Map<string, string>()
  const names: string[] = []
  for (const field of ['initContainers', 'containers'] as const) {
    spec[field]?.forEach((container, i) => {
      container.ports?.forEach((port, j) => {
        const at = `${path}.${field}[${i}].ports[${j}]`
        const key = `${port.containerPort}/${port.protocol}`
        const others = byPort.get(key) ?? []
        for (const other of warnings.length < MAX_WARNINGS ? others : []) {
          const text = portOverlap(port, other.port)
          if (text) warnings.push(`${at}: ${text} port definition with ${other.at}`)
        }
        if (others.length < COMPARED_PORTS) byPort.set(key, [...others, { at, port }])
        const first = port.name && byName.get(port.name)
        if (first)
          names.push(
            `${at}: duplicate port name "${port.name}" with ${first}, services and probes that select ports by name will use ${first}`,
          )
        else if (port.name) byName.set(port.name, at)
      })
    })
  }
  warnings.push(...names)
}

function portOverlap(a: ContainerPort, b: ContainerPort): string | undefined {
  const [ipA, ipB] = [a.hostIP ?? '', b.hostIP ?? '']
  const [portA, portB] = [a.hostPort ?? 0, b.hostPort ?? 0]
  if (ipA === ipB && portA === portB) return 'duplicate'
  if (portA === 0 || portB === 0) return 'overlapping'
  const oneOpen = (ipA === '') !== (ipB === '')
  return portA === portB && oneOpen ? 'dangerously ambiguous' : undefined
}

function selectorWarnings(spec: PodSpec, path: string, warnings: string[]): void {
  spec.topologySpreadConstraints?.forEach((constraint, i) => {
    const at = `${path}.topologySpreadConstraints[${i}]`
    const text = DEPRECATED_NODE_LABELS.get(constraint.topologyKey)
    if (text) warnings.push(`${at}.topologyKey: ${constraint.topologyKey} is ${text}`)
    if (!constraint.labelSelector) warnings.push(`${at}.labelSelector: ${NO_SELECTOR}`)
  })
  for (const field of ['podAffinity', 'podAntiAffinity'] as const) {
    const at = `${path}.affinity.${field}`
    const affinity = spec.affinity?.[field]
    affinity?.requiredDuringSchedulingIgnoredDuringExecution?.forEach((term, i) => {
      if (!term.labelSelector)
        warnings.push(`${at}.requiredDuringSchedulingIgnoredDuringExecution[${i}].labelSelector: ${NO_SELECTOR}`)
    })
    affinity?.preferredDuringSchedulingIgnoredDuringExecution?.forEach((weighted, i) => {
      if (!weighted.podAffinityTerm?.labelSelector)
        warnings.push(
          `${at}.preferredDuringSchedulingIgnoredDuringExecution[${i}].podAffinityTerm.labelSelector: ${NO_SELECTOR}`,
        )
    })
  }
}
