import type { Binding, Node, Pod } from '../../api/generated/core-v1.ts'
import { LABEL } from '../../api/meta/well-known.ts'
import type { Lister } from './lister.ts'
import type { AdmissionPlugin } from './plugin.ts'

const COPIED = [LABEL.zone, LABEL.region]

/** A pod knows the zone and region it runs in (https://kep.k8s.io/4742): they come with its node. */
export function podTopologyLabels(nodes: Lister<Node>): AdmissionPlugin {
  return {
    name: 'PodTopologyLabels',
    resources: ['pods'],
    admit({ operation, kind, subresource, draft }) {
      if (operation !== 'CREATE' || kind.plural !== 'pods' || kind.group !== '' || !draft) return
      const nodeName = nodeNameIn(draft, subresource)
      if (!nodeName) return
      const labels = nodes.labels(nodeName)
      if (labels instanceof Promise) return labels.then((found) => copyLabels(found, draft))
      copyLabels(labels, draft)
    },
  }
}

function nodeNameIn(draft: Pod | Binding, subresource: string): string | undefined {
  if (subresource === '') return (draft as Pod).spec?.nodeName
  if (subresource !== 'binding') return undefined
  const { target } = draft as Binding
  return target?.kind === 'Node' ? target.name : undefined
}

function copyLabels(labels: Readonly<Record<string, string>> | undefined, draft: Pod | Binding): void {
  const copied = labels ? COPIED.filter((key) => labels[key] !== undefined) : []
  if (copied.length === 0) return
  const own = Object.fromEntries(copied.map((key) => [key, labels![key]!]))
  draft.metadata = { ...draft.metadata, labels: { ...draft.metadata?.labels, ...own } }
}
