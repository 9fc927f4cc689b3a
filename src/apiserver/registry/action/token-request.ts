import type { BoundObjectReference, TokenRequest, TokenRequestSpec } from '../../../api/generated/authentication-v1.ts'
import type { Pod } from '../../../api/generated/core-v1.ts'
import { badRequest, conflict, invalidObject, objectNotFound } from '../../../api/meta/api-error.ts'
import { invalid } from '../../../api/meta/field-error.ts'
import { FieldPath } from '../../../api/meta/field-path.ts'
import type { KubernetesObject } from '../../../api/meta/object.ts'
import { formatTime } from '../../../api/meta/time.ts'
import type { ServiceAccountTokens, TokenSubject } from '../../authentication/service-account-tokens.ts'
import type { ResourceRequest } from '../../request/resource-request.ts'
import { storagePrefix } from '../../watch-cache/storage-key.ts'
import type { Action } from '../actions.ts'
import { decodePlain } from '../decode.ts'
import { cacheOf, catchUp, type Machinery } from '../machinery.ts'
import { parseWriteOptions } from '../write-options.ts'

const KIND = { group: 'authentication.k8s.io', kind: 'TokenRequest' }
const EXPIRATION = FieldPath.root('spec').child('expirationSeconds')
const DEFAULT_SECONDS = 3600
const MIN_SECONDS = 600
const MAX_SECONDS = 2 ** 32

/** POST serviceaccounts/NAME/token: a token that ends, and ends earlier if what it is bound to goes away. */
export function tokenRequestAction(tokens: ServiceAccountTokens): Action {
  return async (machinery, request) => {
    const { dryRun } = parseWriteOptions(request, 'CreateOptions')
    if (!request.body) throw badRequest('the request has no body')
    const asked = decodePlain(request.body, 'TokenRequest') as unknown as TokenRequest
    checkPlace(request, asked)
    const seconds = checkSeconds(asked.spec, request.name)
    await admit(machinery, request, asked, dryRun)
    const subject = await subjectOf(machinery, request, asked)
    const audiences = asked.spec?.audiences?.length ? asked.spec.audiences : tokens.audiences
    const token = await tokens.issue(subject, audiences, seconds)
    const now = Math.floor(machinery.clock.now() / 1000) * 1000
    const body = {
      kind: 'TokenRequest',
      apiVersion: 'authentication.k8s.io/v1',
      metadata: {
        name: request.name,
        namespace: request.namespace,
        creationTimestamp: formatTime(now),
      },
      spec: { ...asked.spec, audiences: [...audiences], expirationSeconds: seconds },
      status: { token, expirationTimestamp: formatTime(now + seconds * 1000) },
    }
    return { type: 'plain', status: 201, body }
  }
}

function checkPlace({ name, namespace }: ResourceRequest, { metadata }: TokenRequest): void {
  if (metadata?.name && metadata.name !== name)
    throw badRequest(`the name of the object (${metadata.name}) does not match the name on the URL (${name})`)
  if (metadata?.namespace && metadata.namespace !== namespace)
    throw badRequest('the namespace of the provided object does not match the namespace sent on the request')
}

function checkSeconds(spec: TokenRequestSpec | undefined, name: string): number {
  const seconds = spec?.expirationSeconds ?? DEFAULT_SECONDS
  const refuse = (message: string) => invalidObject(KIND, name, [invalid(EXPIRATION, seconds, message)])
  if (seconds < MIN_SECONDS) throw refuse('may not specify a duration less than 10 minutes')
  if (seconds > MAX_SECONDS) throw refuse('may not specify a duration larger than 2^32 seconds')
  return seconds
}

async function admit(machinery: Machinery, request: ResourceRequest, asked: TokenRequest, dryRun: boolean) {
  const admission = {
    operation: 'CREATE' as const,
    kind: request.kind,
    subresource: 'token',
    namespace: request.namespace,
    name: request.name,
    draft: asked as KubernetesObject,
    old: undefined,
    user: request.user,
    dryRun,
    warn: (message: string) => request.warnings.push(message),
    ...(request.annotate && { annotate: request.annotate }),
  }
  await machinery.admission.admit(admission)
  await machinery.admission.validate(admission)
}

async function subjectOf(
  machinery: Machinery,
  { namespace, name }: ResourceRequest,
  { spec, metadata }: TokenRequest,
): Promise<TokenSubject> {
  const account = { name, uid: await uidOf(machinery, 'serviceaccounts', namespace, name) }
  if (metadata?.uid && metadata.uid !== account.uid) {
    const message = `the UID in the token request (${metadata.uid}) does not match the UID of the service account (${account.uid})`
    throw conflict({ group: KIND.group, resource: KIND.kind }, name, message)
  }
  const bound = spec?.boundObjectRef
  return { namespace, account, ...(bound && (await boundTo(machinery, namespace, name, bound))) }
}

async function boundTo(
  machinery: Machinery,
  namespace: string,
  account: string,
  ref: BoundObjectReference,
): Promise<Pick<TokenSubject, 'pod' | 'secret' | 'node'>> {
  const { kind = '', apiVersion = 'v1', name = '' } = ref
  const refuse = () => badRequest(`cannot bind token to object of type ${apiVersion}, Kind=${kind}`)
  if (apiVersion !== 'v1' && apiVersion !== '') throw refuse()
  switch (kind) {
    case 'Pod': {
      const pod = (await find(machinery, 'pods', namespace, name)) as Pod
      if ((pod.spec?.serviceAccountName ?? 'default') !== account)
        throw badRequest(
          `cannot bind token for serviceaccount ${JSON.stringify(account)} to pod running with different serviceaccount name.`,
        )
      const bound = { pod: { name, uid: checkUid(ref, pod) } }
      const nodeName = pod.spec?.nodeName
      if (!nodeName) return bound
      // A node may be gone while its pods are still known.
      const uid = await uidOf(machinery, 'nodes', '', nodeName).catch(() => undefined)
      return uid ? { ...bound, node: { name: nodeName, uid } } : bound
    }
    case 'Secret':
      return { secret: { name, uid: checkUid(ref, await find(machinery, 'secrets', namespace, name)) } }
    case 'Node':
      return { node: { name, uid: checkUid(ref, await find(machinery, 'nodes', '', name)) } }
    default:
      throw refuse()
  }
}

function checkUid({ kind = '', name = '', uid }: BoundObjectReference, { metadata }: KubernetesObject): string {
  if (uid && uid !== metadata.uid) {
    const message = `the UID in the bound object reference (${uid}) does not match the UID in record. The object might have been deleted and then recreated`
    throw conflict({ group: '', resource: kind }, name, message)
  }
  return metadata.uid!
}

async function uidOf(machinery: Machinery, plural: string, namespace: string, name: string): Promise<string> {
  return (await find(machinery, plural, namespace, name)).metadata.uid!
}

async function find(machinery: Machinery, plural: string, namespace: string, name: string): Promise<KubernetesObject> {
  const prefix = storagePrefix({ group: '', plural })
  const key = namespace ? `${prefix}${namespace}/${name}` : prefix + name
  if (machinery.sharedStore) await catchUp(machinery)
  const found = (await cacheOf(machinery, prefix)).get(key)
  if (!found) throw objectNotFound({ group: '', resource: plural }, name)
  return found.object
}
