import { deepEqual } from '../../../base/deep-equal.ts'
import type {
  LimitedPriorityLevelConfiguration,
  LimitResponse,
  PriorityLevelConfiguration,
  PriorityLevelConfigurationSpec,
  QueuingConfiguration,
} from '../../generated/flowcontrol-v1.ts'
import { type Column, defineKind } from '../../kind.ts'
import { type FieldError, forbidden, invalid, notSupported, required } from '../../meta/field-error.ts'
import { FieldPath } from '../../meta/field-path.ts'
import { prepareCreateWithStatus, prepareUpdateWithStatus, statusSubresource } from '../../strategy.ts'
import { ageColumn, column, nameColumn } from '../core/printed-columns.ts'
import { validateConditionTypes } from './conditions.ts'
import { mandatoryPriorityLevels } from './mandatory.ts'

const SPEC = FieldPath.root('spec')
const LIMITED = SPEC.child('limited')
const QUEUING = LIMITED.child('limitResponse', 'queuing')
const MAX_QUEUES = 10_000_000
/** Hands are dealt from one 64-bit hash. */
const MAX_HASH_BITS = 60

export const priorityLevelConfigurationKind = defineKind<PriorityLevelConfiguration>({
  group: 'flowcontrol.apiserver.k8s.io',
  version: 'v1',
  kind: 'PriorityLevelConfiguration',
  plural: 'prioritylevelconfigurations',
  namespaced: false,
  schema: 'io.k8s.api.flowcontrol.v1.PriorityLevelConfiguration',
  defaults,
  prepareCreate: prepareCreateWithStatus,
  prepareUpdate: prepareUpdateWithStatus,
  validate,
  columns: [
    nameColumn,
    column<PriorityLevelConfiguration>('Type', 'Limited or Exempt.', (level) => level.spec?.type ?? ''),
    limit('NominalConcurrencyShares', 'Share of the server at rest.', (limited) => limited.nominalConcurrencyShares),
    limit('Queues', 'How many queues there are.', (limited) => limited.limitResponse?.queuing?.queues),
    limit('HandSize', 'How many queues a flow may use.', (limited) => limited.limitResponse?.queuing?.handSize),
    limit(
      'QueueLengthLimit',
      'How many requests may wait in a queue.',
      (limited) => limited.limitResponse?.queuing?.queueLengthLimit,
    ),
    ageColumn,
  ],
  subresources: {
    status: statusSubresource<PriorityLevelConfiguration>({
      validateUpdate: ({ status }) => validateConditionTypes(status?.conditions),
    }),
  },
})

function limit(
  name: string,
  description: string,
  read: (limited: LimitedPriorityLevelConfiguration) => number | undefined,
): Column<PriorityLevelConfiguration> {
  return column(name, description, ({ spec }) => (spec?.limited && read(spec.limited)) ?? '<none>')
}

function defaults({ spec }: PriorityLevelConfiguration): void {
  if (spec?.exempt) {
    spec.exempt.nominalConcurrencyShares ??= 0
    spec.exempt.lendablePercent ??= 0
  }
  if (!spec?.limited) return
  spec.limited.nominalConcurrencyShares ??= 30
  spec.limited.lendablePercent ??= 0
  const queuing = spec.limited.limitResponse?.queuing
  if (!queuing) return
  queuing.handSize ||= 8
  queuing.queues ||= 64
  queuing.queueLengthLimit ||= 50
}

function validate({ metadata, spec }: PriorityLevelConfiguration): FieldError[] {
  const name = metadata.name ?? ''
  return [...validateType(name, spec), ...validateMandatory(name, spec)]
}

function validateMandatory(name: string, spec: PriorityLevelConfigurationSpec | undefined): FieldError[] {
  const fixed = Object.hasOwn(mandatoryPriorityLevels, name) ? mandatoryPriorityLevels[name] : undefined
  if (!fixed) return []
  const comparable = name === 'exempt' ? { ...spec, exempt: fixed.exempt } : spec
  if (deepEqual(comparable, fixed)) return []
  const exception = name === 'exempt' ? " except the 'spec.exempt' field" : ''
  return [invalid(SPEC, spec, `spec of '${name}'${exception} must equal the fixed value`)]
}

function validateType(name: string, spec: PriorityLevelConfigurationSpec | undefined): FieldError[] {
  const type = spec?.type ?? ''
  const errors: FieldError[] = []
  if ((name === 'exempt') !== (type === 'Exempt'))
    errors.push(invalid(SPEC.child('type'), type, "must be 'Exempt' if and only if `name` is 'exempt'"))
  if (type === 'Exempt') {
    if (spec?.limited) errors.push(forbidden(LIMITED, 'must be nil if the type is not Limited'))
    errors.push(...validateShares(spec?.exempt ?? {}, SPEC.child('exempt')))
  } else if (type === 'Limited') {
    if (spec?.exempt) errors.push(forbidden(SPEC.child('exempt'), 'must be nil if the type is Limited'))
    if (spec?.limited) errors.push(...validateLimited(spec.limited))
    else errors.push(required(LIMITED, 'must not be empty when type is Limited'))
  } else errors.push(notSupported(SPEC.child('type'), type, ['Exempt', 'Limited']))
  return errors
}

function validateShares(
  { nominalConcurrencyShares: shares, lendablePercent: lendable }: LimitedPriorityLevelConfiguration,
  path: FieldPath,
): FieldError[] {
  const errors: FieldError[] = []
  if (shares !== undefined && shares < 0)
    errors.push(invalid(path.child('nominalConcurrencyShares'), shares, 'must be a non-negative integer'))
  if (lendable !== undefined && (lendable < 0 || lendable > 100))
    errors.push(invalid(path.child('lendablePercent'), lendable, 'must be between 0 and 100, inclusive'))
  return errors
}

function validateLimited(limited: LimitedPriorityLevelConfiguration): FieldError[] {
  const errors = [...validateShares(limited, LIMITED), ...validateLimitResponse(limited.limitResponse)]
  const borrowing = limited.borrowingLimitPercent
  if (borrowing !== undefined && borrowing < 0)
    errors.push(
      invalid(LIMITED.child('borrowingLimitPercent'), borrowing, 'if specified, must be a non-negative integer'),
    )
  return errors
}

function validateLimitResponse(response: LimitResponse | undefined): FieldError[] {
  const type = response?.type ?? ''
  if (type === 'Reject')
    return response?.queuing ? [forbidden(QUEUING, 'must be nil if limited.limitResponse.type is not Limited')] : []
  if (type === 'Queue')
    return response?.queuing
      ? validateQueuing(response.queuing)
      : [required(QUEUING, 'must not be empty if limited.limitResponse.type is Limited')]
  return [notSupported(LIMITED.child('limitResponse', 'type'), type, ['Queue', 'Reject'])]
}

function validateQueuing({ queues = 0, handSize = 0, queueLengthLimit = 0 }: QueuingConfiguration): FieldError[] {
  const errors: FieldError[] = []
  const refuse = (field: string, value: number, message: string) =>
    errors.push(invalid(QUEUING.child(field), value, message))
  if (queueLengthLimit <= 0) refuse('queueLengthLimit', queueLengthLimit, 'must be positive')
  if (queues <= 0) refuse('queues', queues, 'must be positive')
  else if (queues > MAX_QUEUES) refuse('queues', queues, `must not be greater than ${MAX_QUEUES}`)
  if (handSize <= 0) refuse('handSize', handSize, 'must be positive')
  else if (handSize > queues) refuse('handSize', handSize, `should not be greater than queues (${queues})`)
  else if (entropyBits(queues, handSize) > MAX_HASH_BITS)
    refuse(
      'handSize',
      handSize,
      `required entropy bits of deckSize ${queues} and handSize ${handSize} should not be greater than ${MAX_HASH_BITS}`,
    )
  return errors
}

/** Dealing a hand from a deck takes log2(n) bits for the first card, log2(n - 1) for the next, and so on. */
function entropyBits(deckSize: number, handSize: number): number {
  let bits = 0
  for (let dealt = 0; dealt < handSize && bits <= MAX_HASH_BITS; dealt++) bits += Math.log2(deckSize - dealt)
  return Math.ceil(bits)
}
