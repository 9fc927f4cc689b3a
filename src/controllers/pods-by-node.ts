import type { Pod } from '../api/generated/core-v1.ts'

/** The index `node` on pods: those bound to a node. One object, so that all who share the informer mean the same. */
export const podsByNode = {
  node: ({ spec }: Pod): readonly string[] => (spec?.nodeName ? [spec.nodeName] : []),
}
