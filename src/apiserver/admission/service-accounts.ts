import type { ServiceAccount } from '../../api/generated/core-v1.ts'
import type { Clock } from '../../base/clock.ts'
import type { CacheFeed } from '../watch-cache/cache-feed.ts'
import { storagePrefix } from '../watch-cache/storage-key.ts'
import { cacheLister } from './lister.ts'
import { objectAppears } from './object-appears.ts'
import type { ServiceAccounts } from './service-account.ts'

const PREFIX = storagePrefix({ group: '', plural: 'serviceaccounts' })
/** Milliseconds that the controller may take to give a new namespace its account. */
const PATIENCE = 1500

/** Reads the watch cache of service accounts. */
export function cachedServiceAccounts(feed: CacheFeed, clock: Clock): ServiceAccounts {
  const accounts = cacheLister<ServiceAccount>(feed, PREFIX)
  return {
    get: (namespace, name) => accounts.get(`${namespace}/${name}`),
    appears: (namespace, name) =>
      objectAppears<ServiceAccount>(feed, { prefix: PREFIX, key: `${PREFIX}${namespace}/${name}` }, clock, PATIENCE),
  }
}
