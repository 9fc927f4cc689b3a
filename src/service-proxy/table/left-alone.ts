import type { ObjectMeta } from '../../api/meta/object.ts'

/** What carries one of these is none of ours: another proxy cares for it, or only DNS tells of it. */
const LABELS = ['service.kubernetes.io/service-proxy-name', 'service.kubernetes.io/headless']

/** Services and EndpointSlices that this proxy does not look at. */
export const isLeftAlone = ({ labels = {} }: Pick<ObjectMeta, 'labels'>) => LABELS.some((label) => label in labels)
