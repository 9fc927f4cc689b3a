import type { Kind } from '../../api/kind.ts'
import type { KubernetesObject } from '../../api/meta/object.ts'
import type { UserInfo } from '../identity.ts'
import type { Allocation } from '../objects/allocation.ts'

export type AdmissionOperation = 'CREATE' | 'UPDATE' | 'DELETE' | 'CONNECT'

/** The request as admission sees it: after defaulting, before validation and storage. */
export interface AdmissionRequest {
  readonly operation: AdmissionOperation
  readonly kind: Kind
  /** The version that was asked for, where it is not the one of the draft. */
  readonly requestKind?: Kind
  readonly subresource: string
  readonly namespace: string
  readonly name: string
  /** The new object, private to this request; undefined on DELETE. For an action subresource, the posted object. */
  readonly draft: KubernetesObject | undefined
  readonly old: KubernetesObject | undefined
  readonly user: UserInfo
  readonly dryRun: boolean
  /** CreateOptions, UpdateOptions, PatchOptions or DeleteOptions, for whoever is asked from outside. */
  readonly options?: Readonly<Record<string, unknown>>
  /** Sent to the user as a `Warning` header. */
  warn(message: string): void
  /** Told to the audit log, where there is one. */
  readonly annotate?: ((key: string, value: string) => void) | undefined
  /**
   * Commits this in the object's transaction, and calls `release` once that has succeeded or failed. Absent where
   * nothing will be written.
   */
  also?(allocation: Allocation, release?: () => void): void
}

/** One file per plugin, listed in order in `plugins.ts`. All `admit`s run first, then all `validate`s. */
export interface AdmissionPlugin {
  readonly name: string
  /** As `plural.group`: the only resources it ever has a say in; all if absent. Writes of others go past it. */
  readonly resources?: readonly string[]
  /** May change the draft. Throws `ApiError` to refuse. */
  admit?(request: AdmissionRequest): Promise<void> | void
  /** May only refuse. */
  validate?(request: AdmissionRequest): Promise<void> | void
}
