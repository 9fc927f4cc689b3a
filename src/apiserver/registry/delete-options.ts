import { badRequest, conflict, type ResourceRef } from '../../api/meta/api-error.ts'
import { type FieldError, forbidden, invalid, notSupported } from '../../api/meta/field-error.ts'
import { FieldPath } from '../../api/meta/field-path.ts'
import type { KubernetesObject } from '../../api/meta/object.ts'
import type { ResourceRequest } from '../request/resource-request.ts'
import { decodePlain } from './decode.ts'
import { invalidOptions } from './write-options.ts'

export type PropagationPolicy = 'Background' | 'Foreground' | 'Orphan'

export interface DeleteOptions {
  readonly gracePeriodSeconds: number | undefined
  readonly propagation: PropagationPolicy | undefined
  readonly preconditions: { readonly uid?: string; readonly resourceVersion?: string }
  readonly dryRun: boolean
}

interface DeleteOptionsBody {
  kind?: string
  gracePeriodSeconds?: number
  propagationPolicy?: string
  orphanDependents?: boolean
  preconditions?: { uid?: string; resourceVersion?: string }
  dryRun?: string[]
}

const POLICIES: readonly string[] = ['Foreground', 'Background', 'Orphan']
const DELETE_OPTIONS_KINDS = new Set([undefined, '', 'DeleteOptions'])

/** Options come in the body or, failing that, in the query. */
export function parseDeleteOptions(request: ResourceRequest): DeleteOptions {
  const body = (request.body ? decodePlain(request.body, 'DeleteOptions') : fromQuery(request)) as DeleteOptionsBody
  if (!DELETE_OPTIONS_KINDS.has(body.kind)) {
    throw badRequest(`the body of a delete must be DeleteOptions, not ${JSON.stringify(body.kind)}`)
  }
  const errors = checkOptions(body)
  if (errors.length > 0) throw invalidOptions('DeleteOptions', errors)
  return {
    gracePeriodSeconds: body.gracePeriodSeconds ?? undefined,
    propagation: propagationOf(body),
    preconditions: body.preconditions ?? {},
    dryRun: (body.dryRun ?? []).length > 0 || request.query.get('dryRun') === 'All',
  }
}

function fromQuery({ query }: ResourceRequest): DeleteOptionsBody {
  return {
    gracePeriodSeconds: query.integer('gracePeriodSeconds'),
    ...(query.has('propagationPolicy') && { propagationPolicy: query.get('propagationPolicy') }),
    ...(query.has('orphanDependents') && { orphanDependents: query.flag('orphanDependents') }),
  }
}

function checkOptions(body: DeleteOptionsBody): FieldError[] {
  const errors: FieldError[] = []
  const policy = FieldPath.root('propagationPolicy')
  if (body.orphanDependents !== undefined && body.propagationPolicy !== undefined) {
    errors.push(invalid(policy, body.propagationPolicy, 'orphanDependents and deletionPropagation cannot be both set'))
  }
  if (body.propagationPolicy !== undefined && !POLICIES.includes(body.propagationPolicy)) {
    errors.push(notSupported(policy, body.propagationPolicy, ['Background', 'Foreground', 'Orphan']))
  }
  if ((body.gracePeriodSeconds ?? 0) < 0 && body.gracePeriodSeconds !== -1) {
    errors.push(
      invalid(FieldPath.root('gracePeriodSeconds'), body.gracePeriodSeconds, 'must be greater than or equal to 0'),
    )
  }
  const dryRun = body.dryRun ?? []
  if (dryRun.length > 0 && dryRun.some((value) => value !== 'All')) {
    errors.push(notSupported(FieldPath.root('dryRun'), dryRun, ['All']))
  }
  if (dryRun.length > 1) errors.push(forbidden(FieldPath.root('dryRun'), 'may hold only one value'))
  return errors
}

function propagationOf(body: DeleteOptionsBody): PropagationPolicy | undefined {
  if (body.propagationPolicy !== undefined) return body.propagationPolicy as PropagationPolicy
  if (body.orphanDependents === undefined) return undefined
  return body.orphanDependents ? 'Orphan' : 'Background'
}

export function checkDeletePreconditions(
  ref: ResourceRef,
  name: string,
  { preconditions }: DeleteOptions,
  object: KubernetesObject,
): void {
  const { uid, resourceVersion } = object.metadata
  if (preconditions.uid !== undefined && preconditions.uid !== uid) {
    const message = `Precondition failed: UID in precondition: ${preconditions.uid}, UID in object meta: ${uid}`
    throw conflict(ref, name, message)
  }
  if (preconditions.resourceVersion !== undefined && preconditions.resourceVersion !== resourceVersion) {
    const message = `Precondition failed: ResourceVersion in precondition: ${preconditions.resourceVersion}, ResourceVersion in object meta: ${resourceVersion}`
    throw conflict(ref, name, message)
  }
}
