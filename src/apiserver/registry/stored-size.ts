import { requestTooLarge } from '../../api/meta/api-error.ts'
import type { EncodedObject } from '../watch-cache/encoding.ts'

/** What etcd takes in one request unless it is told otherwise. */
export const MAX_STORED_BYTES = 1.5 * 1024 * 1024

/**
 * Refuses an object that upstream's store would refuse. Upstream stores built-in types as protobuf, in which a text that is
 * full of quotes is shorter than in JSON.
 */
export async function refuseOversized({ value, object }: EncodedObject): Promise<void> {
  const { messageOfKind } = await import('../../api/protobuf/messages.ts')
  const { encodeObject } = await import('../../api/protobuf/encode.ts')
  const { apiVersion = '', kind = '' } = object
  const bytes = messageOfKind(apiVersion, kind) ? encodeObject(object).length : value.length
  if (bytes > MAX_STORED_BYTES)
    throw requestTooLarge(
      `etcdserver: request is too large: the object has ${bytes} bytes; limit is ${MAX_STORED_BYTES}`,
    )
}
