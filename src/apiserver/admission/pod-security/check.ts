import type { Container, PodSpec } from '../../../api/generated/core-v1.ts'
import type { ObjectMeta } from '../../../api/meta/object.ts'

/** A pod, or the template that pods are made of. */
export interface CheckedPod {
  readonly metadata: Pick<ObjectMeta, 'annotations'> | undefined
  readonly spec: PodSpec
}

/** What a pod does that a level does not allow: a few words, and who does it. */
export interface Violation {
  readonly reason: string
  readonly detail: string
}

export type FindViolation = (pod: CheckedPod) => Violation | undefined

/** One rule of the Pod Security Standards. Rules change with the versions of Kubernetes, and namespaces can pin one. */
export interface Check {
  readonly id: string
  readonly level: 'baseline' | 'restricted'
  /** By the minor version each form of it came with, oldest first. */
  readonly versions: readonly CheckVersion[]
}

export interface CheckVersion {
  readonly since: number
  readonly find: FindViolation
  /** The id of a baseline check that this one says more strictly. */
  readonly replaces?: string
}

export type AnyContainer = Omit<Container, 'resizePolicy'>

export function allContainers({ spec }: CheckedPod): AnyContainer[] {
  return [...(spec.initContainers ?? []), ...spec.containers, ...((spec.ephemeralContainers ?? []) as AnyContainer[])]
}

/** `"a", "b"` */
export const quoted = (names: Iterable<string>) => [...names].map((name) => JSON.stringify(name)).join(', ')
export const sorted = (names: Iterable<string>) => [...new Set(names)].sort()
export const plural = (word: string, count: number) => (count === 1 ? word : `${word}s`)
/** `container "a"`, `containers "a", "b"` */
export const named = (word: string, names: readonly string[]) => `${plural(word, names.length)} ${quoted(names)}`

/** `volume "a" and annotations "b", "c"`: those there are. */
export const namedAll = (groups: Readonly<Record<string, readonly string[]>>) =>
  Object.entries(groups)
    .filter(([, names]) => names.length > 0)
    .map(([word, names]) => named(word, names))
    .join(' and ')

export const namesOf = (containers: readonly AnyContainer[], isBad: (container: AnyContainer) => boolean) =>
  containers.filter(isBad).map(({ name }) => name)

/** `pod and container "a"`: all that set something, the pod first. */
export function setters(isPodBad: boolean, containers: readonly string[]): string {
  const parts = isPodBad ? ['pod'] : []
  if (containers.length > 0) parts.push(named('container', containers))
  return parts.join(' and ')
}

export const isWindows = ({ spec }: CheckedPod) => spec.os?.name === 'windows'
/** Root in a user namespace of its own is nobody outside of it. */
export const hasUserNamespace = ({ spec }: CheckedPod) => spec.hostUsers === false

/** The rule as it is, but not for these pods. */
export const unless =
  (isFree: (pod: CheckedPod) => boolean, find: FindViolation): FindViolation =>
  (pod) =>
    isFree(pod) ? undefined : find(pod)
