import type { PodSpec } from '../../../generated/core-v1.ts'
import type { ObjectMeta } from '../../../meta/object.ts'

/** Names a folder of the node that containers of the host image see, read-only, at /app. */
export const HOST_PATH_ANNOTATION = 'sampan.dev/host-path'

/** The parts of a pod that show it files of its node. */
export interface HostPaths {
  /** Names of volumes of type hostPath. */
  readonly volumes: readonly string[]
  /** The annotations that act like such a volume. */
  readonly annotations: readonly string[]
}

/** All ways by which a pod asks for files of its node. Pod Security and the nodes both read this list. */
export function hostPathsOf(pod: {
  readonly metadata?: Pick<ObjectMeta, 'annotations'> | undefined
  readonly spec?: PodSpec | undefined
}): HostPaths {
  const volumes = (pod.spec?.volumes ?? []).filter(({ hostPath }) => hostPath).map(({ name }) => name)
  return { volumes, annotations: hostPathOf(pod.metadata?.annotations) === undefined ? [] : [HOST_PATH_ANNOTATION] }
}

/** The folder that the annotation names. */
export const hostPathOf = (annotations: Readonly<Record<string, string>> | undefined): string | undefined =>
  annotations !== undefined && Object.hasOwn(annotations, HOST_PATH_ANNOTATION)
    ? annotations[HOST_PATH_ANNOTATION]
    : undefined
