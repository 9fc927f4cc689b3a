import {
  allContainers,
  type Check,
  type FindViolation,
  hasUserNamespace,
  named,
  namesOf,
  setters,
  unless,
} from '../check.ts'

const runAsNonRoot: FindViolation = (pod) => {
  const ofPod = pod.spec.securityContext?.runAsNonRoot
  const containers = allContainers(pod)
  const reason = 'runAsNonRoot != true'
  const bad = namesOf(containers, ({ securityContext }) => securityContext?.runAsNonRoot === false)
  if (ofPod === false || bad.length > 0)
    return { reason, detail: `${setters(ofPod === false, bad)} must not set securityContext.runAsNonRoot=false` }
  const open = ofPod ? [] : namesOf(containers, ({ securityContext }) => securityContext?.runAsNonRoot === undefined)
  if (open.length === 0) return undefined
  return { reason, detail: `pod or ${named('container', open)} must set securityContext.runAsNonRoot=true` }
}

const runAsUser: FindViolation = (pod) => {
  const isPodBad = pod.spec.securityContext?.runAsUser === 0
  const bad = namesOf(allContainers(pod), ({ securityContext }) => securityContext?.runAsUser === 0)
  if (!isPodBad && bad.length === 0) return undefined
  return { reason: 'runAsUser=0', detail: `${setters(isPodBad, bad)} must not set runAsUser=0` }
}

export const runAsNonRootCheck: Check = {
  id: 'runAsNonRoot',
  level: 'restricted',
  versions: [
    { since: 0, find: runAsNonRoot },
    { since: 35, find: unless(hasUserNamespace, runAsNonRoot) },
  ],
}
export const runAsUserCheck: Check = {
  id: 'runAsUser',
  level: 'restricted',
  versions: [
    { since: 23, find: runAsUser },
    { since: 35, find: unless(hasUserNamespace, runAsUser) },
  ],
}
