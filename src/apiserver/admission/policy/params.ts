import type { ParamKind, ParamRef } from '../../../api/generated/admissionregistration-v1.ts'
import type { Kind } from '../../../api/kind.ts'
import { compileLabelSelector, type LabelSelector, matchesLabels } from '../../../api/meta/label-selector.ts'
import { type KubernetesObject, parseApiVersion } from '../../../api/meta/object.ts'
import type { KindTable } from '../../kind-table.ts'
import { inVersion } from '../../objects/representation.ts'
import { readOne } from '../../objects/stored-form.ts'
import type { CacheFeed } from '../../watch-cache/cache-feed.ts'
import type { CachedObject } from '../../watch-cache/cached-object.ts'
import { objectKey } from '../../watch-cache/storage-key.ts'

/** A binding cannot be put to work as it is. */
export class BindingProblem extends Error {}

/** Objects that a policy is given to decide with; one `undefined` where it uses none, nothing where it is not asked. */
export async function findParams(
  feed: CacheFeed,
  kinds: KindTable,
  paramKind: ParamKind | undefined,
  paramRef: ParamRef | undefined,
  namespace: string,
): Promise<readonly (KubernetesObject | undefined)[]> {
  if (!paramKind || !paramRef) return [undefined]
  const { group, version } = parseApiVersion(paramKind.apiVersion ?? '')
  const kind = kinds.byKind(group, version, paramKind.kind ?? '')
  if (!kind)
    throw new BindingProblem(
      `failed to find resource referenced by paramKind: '${group ? `${group}/` : ''}${version}, Kind=${paramKind.kind}'`,
    )
  const found = await select(feed, kinds, kind, paramRef, placeOf(kind, paramRef, namespace))
  if (found.length > 0 || paramRef.parameterNotFoundAction !== 'Deny') return found
  throw new BindingProblem('no params found for policy binding with `Deny` parameterNotFoundAction')
}

function placeOf(kind: Kind, paramRef: ParamRef, namespace: string): string {
  if (!kind.namespaced) {
    if (paramRef.namespace)
      throw new BindingProblem('paramRef.namespace must not be provided for a cluster-scoped `paramKind`')
    return ''
  }
  const place = paramRef.namespace || namespace
  if (place === '')
    throw new BindingProblem('cannot use namespaced paramRef in policy binding that matches cluster-scoped resources')
  return place
}

async function select(
  feed: CacheFeed,
  kinds: KindTable,
  kind: Kind,
  { name, selector }: ParamRef,
  namespace: string,
): Promise<KubernetesObject[]> {
  const { prefix, form, storage } = kinds.placeOf(kind)
  const cache = feed.loaded(prefix) ?? (await feed.cache(prefix))
  let found: readonly CachedObject[]
  if (name) {
    const one = cache.get(objectKey(prefix, storage.namespaced, namespace, name))
    found = one ? [one] : []
  } else {
    const labels = compileLabelSelector(selector as LabelSelector)
    const keyPrefix = storage.namespaced ? `${prefix}${namespace}/` : prefix
    const matches = (object: CachedObject) => matchesLabels(labels, object.labels)
    found = cache.select({ id: keyPrefix, keyPrefix, exactKey: false, matches })
  }
  return Promise.all(found.map(async (stored) => inVersion(kind, await readOne(form, stored)).object))
}
