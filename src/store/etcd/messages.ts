import { bool, bytes, integer, many, message, one, text } from '../../protobuf/message.ts'

/** The messages of etcd's v3 API that the store uses, with the fields it uses. */

export const ResponseHeader = message({ revision: integer(3) })

export const KeyValue = message({
  key: bytes(1),
  create_revision: integer(2),
  mod_revision: integer(3),
  value: bytes(5),
})
export type KeyValue = ReturnType<typeof KeyValue.decode>

export const RangeRequest = message({
  key: bytes(1),
  range_end: bytes(2),
  limit: integer(3),
  revision: integer(4),
  keys_only: bool(8),
})
export const RangeResponse = message({
  header: one(1, ResponseHeader),
  kvs: many(2, KeyValue),
  count: integer(4),
})

export const PutRequest = message({ key: bytes(1), value: bytes(2) })
export const DeleteRangeRequest = message({ key: bytes(1) })

export const RequestOp = message({
  request_range: one(1, RangeRequest),
  request_put: one(2, PutRequest),
  request_delete_range: one(3, DeleteRangeRequest),
})
export const ResponseOp = message({ response_range: one(1, RangeResponse) })

/** Of `target`: the revision of a key's last write. */
export const COMPARE_MOD = 2
export const Compare = message({ result: integer(1), target: integer(2), key: bytes(3), mod_revision: integer(6) })

export const TxnRequest = message({
  compare: many(1, Compare),
  success: many(2, RequestOp),
  failure: many(3, RequestOp),
})
export const TxnResponse = message({
  header: one(1, ResponseHeader),
  succeeded: bool(2),
  responses: many(3, ResponseOp),
})

export const CompactionRequest = message({ revision: integer(1) })
export const CompactionResponse = message({ header: one(1, ResponseHeader) })

export const StatusRequest = message({})
export const StatusResponse = message({ header: one(1, ResponseHeader), version: text(2) })

export const WatchCreateRequest = message({
  key: bytes(1),
  range_end: bytes(2),
  start_revision: integer(3),
  prev_kv: bool(6),
  fragment: bool(8),
})
export const WatchProgressRequest = message({})
export const WatchRequest = message({
  create_request: one(1, WatchCreateRequest),
  progress_request: one(3, WatchProgressRequest),
})

/** Of `type`: the key was deleted. */
export const EVENT_DELETE = 1
export const Event = message({ type: integer(1), kv: one(2, KeyValue), prev_kv: one(3, KeyValue) })

export const WatchResponse = message({
  header: one(1, ResponseHeader),
  watch_id: integer(2),
  created: bool(3),
  canceled: bool(4),
  compact_revision: integer(5),
  cancel_reason: text(6),
  fragment: bool(7),
  events: many(11, Event),
})
export type WatchResponse = ReturnType<typeof WatchResponse.decode>
