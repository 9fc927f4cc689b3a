import type { Kind } from '../../api/kind.ts'
import { type ApiError, alreadyExists, serviceUnavailable } from '../../api/meta/api-error.ts'
import type { KubernetesObject } from '../../api/meta/object.ts'
import { ConflictError } from '../../store/store.ts'
import type { AdmissionRequest } from '../admission/plugin.ts'
import { allocatorOf } from '../objects/allocation.ts'
import {
  adoptNamespace,
  dropEmptyCollections,
  refuseVersion,
  setTypeMeta,
  stampNewObject,
} from '../objects/object-meta.ts'
import { addWarnings, type ResourceRequest } from '../request/resource-request.ts'
import { CachedObject } from '../watch-cache/cached-object.ts'
import { unstored } from '../watch-cache/encoding.ts'
import type { Answer } from './answer.ts'
import { betweenSteps } from './between-steps.ts'
import { commitObject, NO_ALLOCATION } from './commit.ts'
import { decodeObject, refuseGrownObject } from './decode.ts'
import { cacheOf, type Machinery, targetOf } from './machinery.ts'
import { recordFields } from './managed-fields.ts'
import { Reservations } from './reservations.ts'
import { validateNew } from './validation.ts'
import { admissionOptions, parseWriteOptions, type WriteOptions } from './write-options.ts'

/** A random name or address can be taken by somebody else at the same moment; then another is drawn. */
const ATTEMPTS = 20

export async function create(machinery: Machinery, request: ResourceRequest): Promise<Answer> {
  const options = parseWriteOptions(request, 'CreateOptions')
  const object = await createWith(machinery, request, options, () => decodeObject(request, options))
  return { type: 'object', status: 201, kind: request.kind, object }
}

/** Creates the object that `makeDraft` makes, which is asked for a fresh draft whenever a draw was lost. */
export async function createWith(
  machinery: Machinery,
  request: ResourceRequest,
  options: WriteOptions,
  makeDraft: () => KubernetesObject | Promise<KubernetesObject>,
): Promise<CachedObject> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await createReserving(machinery, request, await makeDraft(), options)
    } catch (error) {
      if (!(error instanceof DrawAgain)) throw error
      if (attempt === ATTEMPTS) throw error.failure
    }
  }
}

/** Something drawn at random was taken; the same request may succeed with another draw. */
class DrawAgain extends Error {
  readonly failure: ApiError
  constructor(failure: ApiError) {
    super(failure.message)
    this.failure = failure
  }
}

async function createReserving(
  machinery: Machinery,
  request: ResourceRequest,
  draft: KubernetesObject,
  options: WriteOptions,
): Promise<CachedObject> {
  const reserved = new Reservations()
  try {
    return await createFrom(machinery, request, draft, options, reserved)
  } finally {
    reserved.release()
  }
}

/** Takes a decoded draft through the whole way into the store. */
async function createFrom(
  machinery: Machinery,
  request: ResourceRequest,
  draft: KubernetesObject,
  options: WriteOptions,
  reserved: Reservations,
): Promise<CachedObject> {
  const { bodyBytes } = request
  await betweenSteps(bodyBytes)
  const { storage, hasGeneratedName } = prepare(machinery, request, draft)
  if (bodyBytes !== undefined) refuseGrownObject(draft, bodyBytes)
  const target = targetOf(machinery, request, draft.metadata.name)
  const admission = new CreateAdmission(request, storage, draft, options, reserved)
  const admitting = machinery.admission.admit(admission)
  if (admitting) await admitting
  await betweenSteps(bodyBytes)
  recordFields({ draft, old: undefined, kind: storage, request, options, now: machinery.clock.now() })
  const allocator = allocatorOf(machinery.allocators, storage)
  const allocation = (allocator && (await allocator.create(draft))) ?? NO_ALLOCATION
  await betweenSteps(bodyBytes)
  validateNew(storage, draft)
  await betweenSteps(bodyBytes)
  const validating = machinery.admission.validate(admission)
  if (validating) await validating
  refuseVersion(draft.metadata)
  if (storage.warnings) addWarnings(request, storage.warnings(draft, undefined))

  await betweenSteps(bodyBytes)
  const taken = () => alreadyExists(target.ref, draft.metadata.name!)
  if (options.dryRun) {
    if ((await cacheOf(machinery, target.prefix)).get(target.key)) throw taken()
    return new CachedObject({ key: target.key, value: unstored(draft), revision: 0 })
  }
  try {
    return await commitObject(machinery, target, 0, draft, reserved.with(allocation))
  } catch (error) {
    if (!(error instanceof ConflictError)) throw error
    if (error.key === target.key) throw hasGeneratedName ? new DrawAgain(taken()) : taken()
    throw new DrawAgain(serviceUnavailable('could not allocate what the object needs; please try again'))
  }
}

function prepare(
  machinery: Machinery,
  request: ResourceRequest,
  draft: KubernetesObject,
): { storage: Kind; hasGeneratedName: boolean } {
  const { kind } = request
  const storage = machinery.kinds.storageOf(kind)
  adoptNamespace(request, draft.metadata)
  const hasGeneratedName = !draft.metadata.name && Boolean(draft.metadata.generateName)
  kind.defaults?.(draft)
  toStorage(kind, storage, draft)
  stampNewObject(draft, machinery.clock, machinery.random)
  dropEmptyCollections(draft.metadata)
  storage.prepareCreate?.(draft)
  return { storage, hasGeneratedName }
}

/** Brings a draft of the requested version to the stored one. */
export function toStorage(kind: Kind, storage: Kind, draft: KubernetesObject): void {
  if (kind.conversion) {
    kind.conversion.toStorage(draft)
    storage.defaults?.(draft)
  }
  setTypeMeta(draft, storage)
}

/** A class, because every write makes one and the options are asked for only by policies and webhooks. */
class CreateAdmission implements AdmissionRequest {
  readonly operation = 'CREATE'
  readonly old = undefined
  readonly kind: Kind
  readonly requestKind: Kind
  readonly subresource: string
  readonly namespace: string
  readonly name: string
  readonly draft: KubernetesObject
  readonly user: AdmissionRequest['user']
  readonly dryRun: boolean
  readonly annotate: AdmissionRequest['annotate']
  readonly also: Reservations['also']
  readonly #request: ResourceRequest
  readonly #options: WriteOptions

  constructor(
    request: ResourceRequest,
    kind: Kind,
    draft: KubernetesObject,
    options: WriteOptions,
    reserved: Reservations,
  ) {
    this.#request = request
    this.#options = options
    this.kind = kind
    this.requestKind = request.kind
    this.subresource = request.subresource
    this.namespace = request.namespace
    this.name = draft.metadata.name ?? ''
    this.draft = draft
    this.user = request.user
    this.dryRun = options.dryRun
    this.annotate = request.annotate
    this.also = reserved.also
  }

  get options(): Readonly<Record<string, unknown>> {
    return admissionOptions('CreateOptions', this.#request, this.#options)
  }

  readonly warn = (message: string): void => {
    this.#request.warnings.push(message)
  }
}
