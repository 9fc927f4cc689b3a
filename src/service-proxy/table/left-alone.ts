import type { ObjectMeta } from '../../api/meta/object.ts'
import { LABEL } from '../../api/meta/well-known.ts'

/** What carries one of these is none of ours: another proxy cares for it, or only DNS tells of it. */
const LABELS = ['service.kubernetes.io/service-proxy-name', LABEL.headless]

/** Services and EndpointSlices that this proxy does not look at. */
export const isLeftAlone = ({ labels = {} }: Pick<ObjectMeta, 'labels'>) => LABELS.some((label) => label in labels)
