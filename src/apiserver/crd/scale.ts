import type { CustomResourceSubresourceScale } from '../../api/generated/apiextensions-v1.ts'
import type { ScaleSubresource } from '../../api/kind.ts'
import { fieldNames, findAll, type JsonPath, parseJsonPath, setField } from './json-path.ts'

/** A Scale in front of a custom resource, found by the paths its author gave. */
export function scaleOf(paths: CustomResourceSubresourceScale): ScaleSubresource {
  const specReplicas = parseJsonPath(paths.specReplicasPath)
  const statusReplicas = parseJsonPath(paths.statusReplicasPath)
  const selector = paths.labelSelectorPath ? parseJsonPath(paths.labelSelectorPath) : undefined
  const names = fieldNames(specReplicas) ?? []
  return {
    type: 'scale',
    replicas: (object) => numberAt(specReplicas, object),
    setReplicas: (draft, replicas) => setField(draft, names, replicas),
    statusReplicas: (object) => numberAt(statusReplicas, object),
    selector: (object) => {
      const [value] = selector ? findAll(selector, object) : []
      return typeof value === 'string' ? value : ''
    },
  }
}

function numberAt(path: JsonPath, object: object): number {
  const [value] = findAll(path, object)
  return typeof value === 'number' ? value : 0
}
