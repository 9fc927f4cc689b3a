import type { Pod, ServiceAccountTokenProjection } from '../../../api/generated/core-v1.ts'
import { serviceAccountKind } from '../../../api/kinds/core/service-account.ts'
import { parseTime } from '../../../api/meta/time.ts'
import type { VolumeContext } from '../volume-plugin.ts'

interface Token {
  readonly token: string
  readonly refreshAt: number
  readonly expiresAt: number
}

/** Asked for anew when this part of its life is over, or once a day. */
const USED_UP = 0.8
const LONGEST_USE = 24 * 3600 * 1000
const DEFAULT_SECONDS = 3600

/** One token for each pod, audience and lifetime, until it is time for the next. Gone with its pod. */
const tokens = new WeakMap<VolumeContext, Map<string, Token>>()

export async function serviceAccountToken(
  context: VolumeContext,
  pod: Pod,
  { audience = '', expirationSeconds = DEFAULT_SECONDS }: ServiceAccountTokenProjection,
): Promise<Token> {
  const known = tokens.get(context) ?? new Map<string, Token>()
  tokens.set(context, known)
  const key = `${pod.metadata.uid}/${audience}/${expirationSeconds}`
  const now = context.clock.now()
  const token = known.get(key)
  if (token && now < token.refreshAt) return token
  try {
    const fresh = await requestToken(context, pod, audience, expirationSeconds)
    known.set(key, fresh)
    return fresh
  } catch (error) {
    // The old one serves a little longer while the API server is away.
    if (token && now < token.expiresAt) return { ...token, refreshAt: now + 60_000 }
    throw error
  }
}

export function forgetTokens(context: VolumeContext, podUid: string): void {
  const known = tokens.get(context)
  for (const key of known?.keys() ?? []) if (key.startsWith(`${podUid}/`)) known?.delete(key)
}

async function requestToken(context: VolumeContext, pod: Pod, audience: string, seconds: number): Promise<Token> {
  const { namespace = '', name = '', uid = '' } = pod.metadata
  const account = pod.spec?.serviceAccountName || 'default'
  const answer = await context.client
    .resource(serviceAccountKind)
    .namespace(namespace)
    .subresource('create', account, 'token', {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenRequest',
      metadata: {},
      spec: {
        audiences: audience === '' ? [] : [audience],
        expirationSeconds: seconds,
        boundObjectRef: { kind: 'Pod', apiVersion: 'v1', name, uid },
      },
    })
  const { status } = answer as { status?: { token?: string; expirationTimestamp?: string } }
  const now = context.clock.now()
  const expiresAt = parseTime(status?.expirationTimestamp ?? '') ?? now + seconds * 1000
  const refreshAt = now + Math.min((expiresAt - now) * USED_UP, LONGEST_USE)
  return { token: status?.token ?? '', refreshAt, expiresAt }
}
