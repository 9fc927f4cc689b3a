import type { Status } from '../../api/meta/api-error.ts'
import type { UserInfo } from '../identity.ts'
import type { Level, Stage } from './policy.ts'

/** One line of an audit log: an Event of audit.k8s.io/v1. */
export interface AuditEvent {
  readonly kind: 'Event'
  readonly apiVersion: 'audit.k8s.io/v1'
  readonly level: Level
  readonly auditID: string
  stage: Stage
  readonly requestURI: string
  readonly verb: string
  readonly user: AuditUser
  impersonatedUser?: AuditUser
  /** The verb of the limited right by which somebody is impersonated. */
  authenticationMetadata?: { readonly impersonationConstraint: string }
  readonly sourceIPs: readonly string[]
  readonly userAgent?: string
  objectRef?: ObjectReference
  responseStatus?: Partial<Status> & { code: number }
  requestObject?: unknown
  responseObject?: unknown
  readonly requestReceivedTimestamp: string
  stageTimestamp: string
  annotations?: Record<string, string>
}

export interface AuditUser {
  readonly username: string
  readonly uid?: string
  readonly groups?: readonly string[]
  readonly extra?: UserInfo['extra']
}

export interface ObjectReference {
  readonly resource: string
  readonly namespace?: string
  readonly name?: string
  readonly uid?: string
  readonly apiGroup?: string
  readonly apiVersion: string
  readonly resourceVersion?: string
  readonly subresource?: string
}

export const auditUser = ({ name, uid, groups, extra }: UserInfo): AuditUser => ({
  username: name,
  ...(uid && { uid }),
  ...(groups.length > 0 && { groups }),
  ...(extra && { extra }),
})

/** Takes events. Never waits and never throws: a log that cannot be written stops no requests. */
export interface AuditBackend extends AsyncDisposable {
  /** The line is one JSON text without a line break. */
  write(line: string): void
}
