import { ApiError, badRequest, requestTooLarge } from '../api/meta/api-error.ts'
import type { Json } from '../api/meta/object.ts'
import type { Schema } from '../api/schema/schema.ts'
import { deepEqual } from '../base/deep-equal.ts'
import { arrayIndex, parsePointer, resolvePointer } from './json-pointer.ts'
import { cloneJson, isObject, setField } from './json-value.ts'
import { addStructs } from './struct-fields.ts'

export const MAX_OPERATIONS = 10_000
/** Copies of copies grow exponentially; all together may not be larger than a request. */
const MAX_COPIED_BYTES = 3 * 1024 * 1024
/** Items that all operations together move up or down in their lists: some 50 ms. */
const MAX_MOVED_ITEMS = 50_000_000

/**
 * RFC 6902, all or nothing as far as the caller can see: on an error the draft is of no use any more. Returns the
 * draft, or a new document where the whole was replaced. With a schema the fields that Go's types always have are there.
 */
export function jsonPatch<T extends object>(draft: T, operations: unknown, schema?: Schema): T {
  if (!Array.isArray(operations)) {
    throw badRequest('json: cannot unmarshal object into Go value of type jsonpatch.Patch')
  }
  if (operations.length > MAX_OPERATIONS) {
    const limit = `The allowed maximum operations in a JSON patch is ${MAX_OPERATIONS}, got ${operations.length}`
    throw requestTooLarge(`Request entity too large: ${limit}`)
  }
  const document = new PatchedDocument(draft as Json, schema)
  for (const operation of operations) document.apply(readOperation(operation))
  if (!isObject(document.root)) throw rejected()
  return document.root as T
}

/** The one answer to a patch that is well formed but does not fit the object. */
const rejected = () =>
  new ApiError(422, 'Invalid', 'the server rejected our request due to an error in our request', {})

interface Operation {
  readonly op: string
  readonly path: readonly string[]
  readonly from: readonly string[] | undefined
  readonly value: Json | undefined
}

function readOperation(operation: unknown): Operation {
  if (!isObject(operation)) throw badRequest('json: cannot unmarshal a JSON patch: an operation must be an object')
  const path = typeof operation.path === 'string' ? parsePointer(operation.path) : undefined
  const from = typeof operation.from === 'string' ? parsePointer(operation.from) : undefined
  if (typeof operation.op !== 'string' || !path) throw rejected()
  return { op: operation.op, path, from, value: operation.value }
}

class PatchedDocument {
  root: Json
  readonly #schema: Schema | undefined
  #copied = 0
  #moved = 0

  constructor(root: Json, schema: Schema | undefined) {
    this.root = root
    this.#schema = schema
  }

  apply({ op, path, from, value }: Operation): void {
    addStructs(this.root, this.#schema, path)
    if (op === 'test') this.#test(path, value ?? null)
    else if (op === 'add') this.#add(path, cloneJson(present(value)))
    else if (op === 'replace') this.#replace(path, cloneJson(present(value)))
    else if (op === 'remove') this.#remove(path)
    else if (op === 'copy') this.#add(path, this.#copy(present(this.#at(present(from)))))
    else if (op === 'move') this.#move(present(from), path)
    else throw rejected()
  }

  #test(path: readonly string[], value: Json): void {
    if (!deepEqual(this.#at(path) ?? null, value)) throw rejected()
  }

  #at = (path: readonly string[]) => resolvePointer(this.root, path)

  #copy(value: Json): Json {
    this.#copied += JSON.stringify(value).length
    if (this.#copied > MAX_COPIED_BYTES) {
      throw requestTooLarge(`Request entity too large: the copy operations exceed ${MAX_COPIED_BYTES} bytes`)
    }
    return cloneJson(value)
  }

  #move(from: readonly string[], path: readonly string[]): void {
    const value = present(this.#at(from))
    const isSelf = from.length <= path.length && from.every((part, index) => part === path[index])
    if (isSelf && from.length === path.length) return
    // Nothing can be moved into itself.
    if (isSelf) throw rejected()
    this.#remove(from)
    this.#add(path, value)
  }

  #splice(list: Json[], index: number, deleted: number, ...added: Json[]): void {
    this.#moved += list.length - index
    if (this.#moved > MAX_MOVED_ITEMS) throw requestTooLarge('Request entity too large: the patch moves too many items')
    list.splice(index, deleted, ...added)
  }

  #add(path: readonly string[], value: Json): void {
    const last = path.at(-1)
    if (last === undefined) {
      this.root = value
      return
    }
    const parent = this.#at(path.slice(0, -1))
    if (Array.isArray(parent)) this.#splice(parent, present(arrayIndex(last, parent.length)), 0, value)
    else if (isObject(parent)) setField(parent, last, value)
    else throw rejected()
  }

  #replace(path: readonly string[], value: Json): void {
    present(this.#at(path))
    const last = path.at(-1)
    const parent = this.#at(path.slice(0, -1))
    if (last === undefined) this.root = value
    else if (Array.isArray(parent)) parent[Number(last)] = value
    else if (isObject(parent)) setField(parent, last, value)
  }

  #remove(path: readonly string[]): void {
    present(this.#at(path))
    const last = path.at(-1)
    const parent = this.#at(path.slice(0, -1))
    if (last === undefined) this.root = null
    else if (Array.isArray(parent)) this.#splice(parent, Number(last), 1)
    else if (isObject(parent)) delete parent[last]
  }
}

function present<V>(value: V | undefined): V {
  if (value === undefined) throw rejected()
  return value
}
