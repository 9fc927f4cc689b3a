import type { Pod, PodSpec, Toleration } from '../../api/generated/core-v1.ts'
import type { RuntimeClass } from '../../api/generated/node-v1.ts'
import { forbiddenAccess } from '../../api/meta/api-error.ts'
import { deepEqual } from '../../base/deep-equal.ts'
import type { Lister } from './lister.ts'
import type { AdmissionPlugin } from './plugin.ts'

/**
 * A pod names a RuntimeClass that exists, and takes over what that class costs and where it can run
 * (https://kep.k8s.io/688, https://kep.k8s.io/585).
 */
export function runtimeClass(classes: Pick<Lister<RuntimeClass>, 'get'>): AdmissionPlugin {
  return {
    name: 'RuntimeClass',
    resources: ['pods'],
    admit({ operation, kind, subresource, draft, name }) {
      if (operation !== 'CREATE' || kind.group !== '' || kind.plural !== 'pods' || subresource !== '' || !draft) return
      const { spec } = draft as Pod
      if (!spec) return
      const found = spec.runtimeClassName ? classes.get(spec.runtimeClassName) : undefined
      if (found instanceof Promise) return found.then((known) => takeOver(name, spec, known))
      takeOver(name, spec, found)
    },
  }
}

function takeOver(name: string, spec: PodSpec, found: RuntimeClass | undefined): void {
  const refuse = (why: string) => forbiddenAccess({ group: '', resource: 'pods' }, name, `pod rejected: ${why}`)
  const className = spec.runtimeClassName
  if (className && !found) throw refuse(`RuntimeClass ${JSON.stringify(className)} not found`)
  const problem = takeOverhead(spec, found) ?? takeScheduling(spec, found)
  if (problem) throw refuse(problem)
}

function takeOverhead(spec: PodSpec, found: RuntimeClass | undefined): string | undefined {
  const overhead = found?.overhead?.podFixed
  const isSet = Object.keys(spec.overhead ?? {}).length > 0
  if (!overhead) return isSet ? 'Pod Overhead set without corresponding RuntimeClass defined Overhead' : undefined
  if (isSet && !deepEqual(spec.overhead, overhead)) {
    return "Pod's Overhead doesn't match RuntimeClass's defined Overhead"
  }
  spec.overhead = { ...overhead }
  return undefined
}

function takeScheduling(spec: PodSpec, found: RuntimeClass | undefined): string | undefined {
  const { nodeSelector = {}, tolerations = [] } = found?.scheduling ?? {}
  for (const [key, value] of Object.entries(nodeSelector)) {
    const own = spec.nodeSelector?.[key]
    if (own !== undefined && own !== value) {
      return `conflict: runtimeClass.scheduling.nodeSelector[${key}] = ${value}; pod.spec.nodeSelector[${key}] = ${own}`
    }
  }
  if (Object.keys(nodeSelector).length > 0) spec.nodeSelector = { ...spec.nodeSelector, ...nodeSelector }
  const missing = tolerations.filter(
    (toleration: Toleration) => !spec.tolerations?.some((own) => deepEqual(own, toleration)),
  )
  if (missing.length > 0) spec.tolerations = [...(spec.tolerations ?? []), ...missing]
  return undefined
}
