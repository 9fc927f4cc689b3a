import type { Pod, PodSpec } from '../../../generated/core-v1.ts'
import { type FieldError, forbidden, invalid } from '../../../meta/field-error.ts'
import type { FieldPath } from '../../../meta/field-path.ts'
import { ANNOTATION } from '../../../meta/well-known.ts'
import { HOST_PATH_ANNOTATION, hostPathOf } from './host-paths.ts'

export const MIRROR_ANNOTATION = ANNOTATION.mirrorPod
export const APPARMOR_PREFIX = 'container.apparmor.security.beta.kubernetes.io/'
const SECCOMP_CONTAINER_PREFIX = 'container.seccomp.security.alpha.kubernetes.io/'
const INT32 = /^[+-]?\d{1,10}$/

type Annotations = Readonly<Record<string, string>> | undefined

/** Annotations of a pod or a template that mean something to the system. */
export function validatePodAnnotations(
  annotations: Annotations,
  spec: PodSpec,
  path: FieldPath,
  errors: FieldError[],
): void {
  if (annotations === undefined) return
  let containers: ReadonlySet<string> | undefined
  for (const key in annotations) {
    const value = annotations[key]!
    if (key === MIRROR_ANNOTATION && !spec.nodeName)
      errors.push(invalid(path.key(key), value, 'must set spec.nodeName if mirror pod annotation is set'))
    else if (key === ANNOTATION.podDeletionCost && !isDeletionCost(value))
      errors.push(invalid(path.key(key), value, 'must be a 32bit integer'))
    else if ((key === ANNOTATION.alphaSeccomp || key.startsWith(SECCOMP_CONTAINER_PREFIX)) && !isSeccompProfile(value))
      errors.push(invalid(path.child(key), value, 'must be a valid seccomp profile'))
    else if (key.startsWith(APPARMOR_PREFIX)) {
      containers ??= containerNames(spec)
      checkAppArmor(key.slice(APPARMOR_PREFIX.length), value, containers, path.key(key), errors)
    }
  }
}

const containerNames = ({ containers, initContainers = [], ephemeralContainers = [] }: PodSpec) =>
  new Set([...containers, ...initContainers, ...ephemeralContainers].map((container) => container.name))

/** A leading plus or zeros would make two texts of one cost. */
function isDeletionCost(value: string): boolean {
  if (value === '' || !INT32.test(value)) return false
  if (value[0] === '+' || (value[0] === '0' && value.length > 1)) return false
  const cost = Number(value)
  return cost >= -0x80000000 && cost <= 0x7fffffff
}

function isSeccompProfile(profile: string): boolean {
  if (profile === 'runtime/default' || profile === 'docker/default' || profile === 'unconfined') return true
  return profile.startsWith('localhost/') && !profile.slice('localhost/'.length).split('/').includes('..')
}

function checkAppArmor(
  name: string,
  profile: string,
  containers: ReadonlySet<string>,
  path: FieldPath,
  errors: FieldError[],
): void {
  if (!containers.has(name)) errors.push(invalid(path, name, 'container not found'))
  if (profile !== '' && profile !== 'runtime/default' && profile !== 'unconfined' && !profile.startsWith('localhost/'))
    errors.push(invalid(path, profile, `invalid AppArmor profile name: ${JSON.stringify(profile)}`))
}

/** These annotations bind the pod to what was started; they stay as they are. */
export function validateAnnotationUpdate(pod: Pod, old: Pod, path: FieldPath, errors: FieldError[]): void {
  const before: Annotations = old.metadata.annotations
  const after: Annotations = pod.metadata.annotations
  for (const key in before) {
    if (before[key] === after?.[key]) continue
    if (key.startsWith(APPARMOR_PREFIX))
      errors.push(forbidden(path.key(key), 'may not remove or update AppArmor annotations'))
    if (key === MIRROR_ANNOTATION)
      errors.push(forbidden(path.key(key), 'may not remove or update mirror pod annotation'))
  }
  for (const key in after) {
    if (before && Object.hasOwn(before, key)) continue
    if (key.startsWith(APPARMOR_PREFIX)) errors.push(forbidden(path.key(key), 'may not add AppArmor annotations'))
    if (key === MIRROR_ANNOTATION) errors.push(forbidden(path.key(key), 'may not add mirror pod annotation'))
  }
  // Pod Security checks it when the pod is created.
  const hostPath = hostPathOf(after)
  if (hostPath !== undefined && hostPath !== hostPathOf(before))
    errors.push(forbidden(path.key(HOST_PATH_ANNOTATION), 'may not be added or changed after the pod was created'))
}
