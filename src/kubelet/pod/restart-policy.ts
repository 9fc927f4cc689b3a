import type { Container, Pod } from '../../api/generated/core-v1.ts'

export interface ContainerEnd {
  readonly exitCode: number
}

type ContainerLike = Pick<Container, 'name' | 'restartPolicy' | 'restartPolicyRules'>

/** Whether a container that ended is started again: its own rules first, then its own policy, then the pod's. */
export function restartsAfter(pod: Pod, container: ContainerLike, { exitCode }: ContainerEnd, isInit = false): boolean {
  for (const rule of container.restartPolicyRules ?? []) {
    const { operator, values = [] } = rule.exitCodes ?? {}
    const listed = values.includes(exitCode)
    if ((operator === 'In' && listed) || (operator === 'NotIn' && !listed)) return rule.action !== ''
  }
  const policy = container.restartPolicy ?? pod.spec?.restartPolicy ?? 'Always'
  if (policy === 'Never') return false
  if (policy === 'OnFailure') return exitCode !== 0
  // An init container without a policy of its own has done its work when it succeeded.
  return isInit && container.restartPolicy === undefined ? exitCode !== 0 : true
}

/** Whether the pod, or one of its containers, is ever started again after a failure. */
export function restartsOnFailure(pod: Pod): boolean {
  if (pod.spec?.restartPolicy !== 'Never') return true
  return pod.spec.containers.some(
    ({ restartPolicy, restartPolicyRules }) =>
      (restartPolicy !== undefined && restartPolicy !== 'Never') || (restartPolicyRules?.length ?? 0) > 0,
  )
}
