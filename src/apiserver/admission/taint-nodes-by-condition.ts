import type { Node } from '../../api/generated/core-v1.ts'
import { TAINT } from '../../api/meta/well-known.ts'
import type { AdmissionPlugin } from './plugin.ts'

const NOT_READY = { key: TAINT.notReady, effect: 'NoSchedule' }

/** A new node takes no pods until it is known to be ready; the node lifecycle controller lifts the taint. */
export const taintNodesByCondition: AdmissionPlugin = {
  name: 'TaintNodesByCondition',
  resources: ['nodes'],
  admit({ operation, kind, subresource, draft }) {
    if (kind.plural !== 'nodes' || kind.group !== '') return
    if (operation !== 'CREATE' || subresource !== '' || !draft) return
    const node = draft as Node
    const taints = node.spec?.taints ?? []
    if (taints.some(({ key, effect }) => key === NOT_READY.key && effect === NOT_READY.effect)) return
    node.spec = { ...node.spec, taints: [...taints, { ...NOT_READY }] }
  },
}
