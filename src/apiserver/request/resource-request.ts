import type { Kind } from '../../api/kind.ts'
import type { DecodedBody } from '../../api/schema/decode.ts'
import type { PatchType } from '../../client/transport.ts'
import type { UserInfo } from '../identity.ts'
import type { Query } from './query.ts'

/** A request for a resource after authentication and routing, the same by HTTP and in process. */
export interface ResourceRequest {
  readonly kind: Kind
  readonly subresource: string
  /** Empty for cluster-scoped kinds and for requests over all namespaces. */
  readonly namespace: string
  readonly name: string
  readonly query: Query
  readonly user: UserInfo
  readonly userAgent: string
  /** Undefined where nothing was sent. */
  readonly body: RequestBody | undefined
  readonly patchType?: PatchType | undefined
  /** The size of the body, where it came by the network. */
  readonly bodyBytes?: number
  /** Collected for the `Warning` headers of the answer. */
  readonly warnings: string[]
  /** Tells the audit log, where there is one. */
  readonly annotate?: ((key: string, value: string) => void) | undefined
}

/** What was sent: bytes from the network (YAML is parsed on arrival), or an object from a caller in this process. */
export type RequestBody =
  | { readonly type: 'bytes'; readonly bytes: Buffer; readonly mediaType: string }
  | { readonly type: 'decoded'; readonly decoded: DecodedBody }
  | { readonly type: 'object'; readonly object: unknown }

/** A client sees a few of them: headers have little room. */
const MAX_WARNINGS = 1000

export function addWarnings({ warnings }: ResourceRequest, more: readonly string[]): void {
  for (const warning of more) {
    if (warnings.length >= MAX_WARNINGS) return
    warnings.push(warning)
  }
}
