import type { Namespace } from '../../api/generated/core-v1.ts'
import { namespaceKind } from '../../api/kinds/core/namespace.ts'
import { serviceAccountKind } from '../../api/kinds/core/service-account.ts'
import { ApiError } from '../../api/meta/api-error.ts'
import { type Controller, type ControllerContext, ownKey, watch } from '../controller.ts'

const NAME = 'default'

/** Gives every namespace the ServiceAccount that pods run as when they name none. */
export function serviceAccountController({ client, informers }: ControllerContext): Controller {
  const namespaces = informers.informer(namespaceKind)
  const accounts = informers.informer(serviceAccountKind)
  return {
    name: 'serviceaccount-controller',
    workers: 5,
    watches: [
      watch(namespaces, (old, current) => (current ? ownKey(old, current) : [])),
      watch(accounts, (old, current) =>
        old && !current && old.metadata.name === NAME ? [old.metadata.namespace!] : [],
      ),
    ],
    async reconcile(namespace) {
      if (!isActive(namespaces.get(namespace)) || accounts.get(`${namespace}/${NAME}`)) return
      const account = { metadata: { name: NAME, namespace } }
      await client.resource(serviceAccountKind).namespace(namespace).create(account).catch(ignoreLostRace)
    },
  }
}

const isActive = (namespace: Namespace | undefined) =>
  namespace !== undefined && namespace.metadata.deletionTimestamp === undefined

/** It is there already, or the namespace began to end or is gone: the informers will tell. */
function ignoreLostRace(error: unknown): void {
  if (!(error instanceof ApiError && [403, 404, 409].includes(error.code))) throw error
}
