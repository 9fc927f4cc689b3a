import type { PodSpec } from '../../../api/generated/core-v1.ts'
import type { AdmissionRequest } from '../plugin.ts'

/** Who and what is not asked. */
export interface Exemptions {
  readonly namespaces?: readonly string[]
  readonly usernames?: readonly string[]
  readonly runtimeClasses?: readonly string[]
}

export function exemptionOf(
  exemptions: Exemptions,
  { namespace, user }: AdmissionRequest,
  { runtimeClassName }: PodSpec,
): 'namespace' | 'user' | 'runtimeClass' | undefined {
  if (exemptions.namespaces?.includes(namespace)) return 'namespace'
  if (exemptions.usernames?.includes(user.name)) return 'user'
  return isRuntimeClassExempt(exemptions, runtimeClassName) ? 'runtimeClass' : undefined
}

export const isRuntimeClassExempt = ({ runtimeClasses }: Exemptions, name: string | undefined) =>
  name !== undefined && name !== '' && (runtimeClasses?.includes(name) ?? false)
