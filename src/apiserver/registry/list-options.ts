import { badRequest } from '../../api/meta/api-error.ts'
import { type FieldError, forbidden, notSupported } from '../../api/meta/field-error.ts'
import { FieldPath } from '../../api/meta/field-path.ts'
import type { Query } from '../request/query.ts'
import { invalidOptions } from './write-options.ts'

export type VersionMatch = '' | 'Exact' | 'NotOlderThan'

/** The options of a list or watch, checked. */
export interface ListOptions {
  readonly labelSelector: string
  readonly fieldSelector: string
  readonly limit: number
  readonly continueToken: string
  /** Undefined if none was given; 0 means any. */
  readonly resourceVersion: number | undefined
  readonly versionMatch: VersionMatch
  readonly allowBookmarks: boolean
  readonly sendInitialEvents: boolean | undefined
  readonly timeoutSeconds: number | undefined
}

export function parseListOptions(query: Query, isWatch: boolean): ListOptions {
  const options: ListOptions = {
    labelSelector: query.get('labelSelector'),
    fieldSelector: query.get('fieldSelector'),
    limit: Math.max(0, query.integer('limit') ?? 0),
    continueToken: query.get('continue'),
    resourceVersion: parseResourceVersion(query.get('resourceVersion')),
    versionMatch: query.get('resourceVersionMatch') as VersionMatch,
    allowBookmarks: query.flag('allowWatchBookmarks'),
    sendInitialEvents: query.has('sendInitialEvents') ? query.flag('sendInitialEvents') : undefined,
    timeoutSeconds: query.integer('timeoutSeconds'),
  }
  const errors = isWatch ? checkWatch(options) : checkList(options)
  if (errors.length > 0) throw invalidOptions('ListOptions', errors)
  return options
}

/** "" is not given; versions are decimal integers without leading zero. */
export function parseResourceVersion(text: string): number | undefined {
  if (text === '') return undefined
  if (!/^(0|[1-9]\d{0,15})$/.test(text)) {
    throw badRequest(
      `invalid resource version ${JSON.stringify(text)}: strconv.ParseUint: parsing ${JSON.stringify(text)}: invalid syntax`,
    )
  }
  return Number(text)
}

const MATCH = FieldPath.root('resourceVersionMatch')
const INITIAL = FieldPath.root('sendInitialEvents')

function checkList(options: ListOptions): FieldError[] {
  const errors: FieldError[] = []
  const { versionMatch, resourceVersion } = options
  if (options.sendInitialEvents !== undefined)
    errors.push(forbidden(INITIAL, 'sendInitialEvents is forbidden for list'))
  if (versionMatch === '') return errors
  if (versionMatch !== 'Exact' && versionMatch !== 'NotOlderThan') {
    return [...errors, notSupported(MATCH, versionMatch, ['Exact', 'NotOlderThan', ''])]
  }
  if (resourceVersion === undefined) {
    errors.push(forbidden(MATCH, 'resourceVersionMatch is forbidden unless resourceVersion is provided'))
  }
  if (options.continueToken)
    errors.push(forbidden(MATCH, 'resourceVersionMatch is forbidden when continue is provided'))
  if (versionMatch === 'Exact' && resourceVersion === 0) {
    errors.push(forbidden(MATCH, 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"'))
  }
  return errors
}

function checkWatch(options: ListOptions): FieldError[] {
  const { versionMatch, sendInitialEvents } = options
  if (sendInitialEvents === undefined) {
    return versionMatch
      ? [forbidden(MATCH, 'resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided')]
      : []
  }
  if (versionMatch !== 'NotOlderThan') {
    return [
      versionMatch === ''
        ? forbidden(MATCH, 'sendInitialEvents requires setting resourceVersionMatch to NotOlderThan')
        : notSupported(MATCH, versionMatch, ['NotOlderThan']),
    ]
  }
  return []
}
