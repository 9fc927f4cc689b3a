import type { Kind } from '../../api/kind.ts'
import type { KubernetesObject } from '../../api/meta/object.ts'
import type { UserInfo } from '../identity.ts'
import type { AdmissionChain } from './chain.ts'
import { kindThrough } from './matching/seen-request.ts'

/** Somebody wants to be connected to a pod, a service or a node. */
export interface ConnectAttempt {
  readonly kind: Kind
  readonly subresource: string
  readonly namespace: string
  readonly name: string
  readonly user: UserInfo
  readonly query: URLSearchParams
  /** Tells the audit log, where there is one. */
  readonly annotate?: ((key: string, value: string) => void) | undefined
}

/** Options that are more than one text. */
const LISTS = new Set(['command'])
const FLAGS = new Set(['stdin', 'stdout', 'stderr', 'tty'])
const isTrue = (text: string) => text === '' || text === '1' || text.toLowerCase() === 'true'

/** Throws if somebody refuses it. */
export async function admitConnection(chain: AdmissionChain, attempt: ConnectAttempt): Promise<void> {
  const { kind, subresource, namespace, name, user, annotate } = attempt
  const common = {
    operation: 'CONNECT' as const,
    kind,
    subresource,
    namespace,
    name,
    user,
    ...(annotate && { annotate }),
  }
  const request = { ...common, draft: optionsOf(attempt), old: undefined, dryRun: false, warn: () => {} }
  await chain.admit(request)
  await chain.validate(request)
}

/** PodExecOptions and their kin, as the query has them. */
function optionsOf({ kind, subresource, query }: ConnectAttempt): KubernetesObject {
  const options: Record<string, unknown> = {}
  for (const field of new Set(query.keys())) {
    if (LISTS.has(field)) options[field] = query.getAll(field)
    else options[field] = FLAGS.has(field) ? isTrue(query.get(field) ?? '') : query.get(field)
  }
  const { version, kind: name } = kindThrough(kind, subresource)
  return { ...options, kind: name, apiVersion: version, metadata: {} }
}
