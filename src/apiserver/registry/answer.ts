import type { Kind } from '../../api/kind.ts'
import type { Status } from '../../api/meta/api-error.ts'
import type { KubernetesObject } from '../../api/meta/object.ts'
import type { CachedObject } from '../watch-cache/cached-object.ts'

/** What a verb gives back, before it is written down in the form the client asked for. */
export type Answer =
  | { readonly type: 'object'; readonly status: number; readonly kind: Kind; readonly object: CachedObject }
  | { readonly type: 'list'; readonly kind: Kind; readonly list: ObjectPage }
  /** Not a stored object: a Status, a review, a scale. */
  | { readonly type: 'plain'; readonly status: number; readonly body: KubernetesObject | Status }

export interface ObjectPage {
  readonly objects: readonly CachedObject[]
  readonly revision: number
  readonly continueToken: string
  readonly remaining: number | undefined
  /** Set for a whole scope, unfiltered and unlimited: while this text stays the same, so do the objects. */
  readonly identity: string | undefined
}
