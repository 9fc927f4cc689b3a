import type { ComponentStatus } from '../../../api/generated/core-v1.ts'
import { objectNotFound } from '../../../api/meta/api-error.ts'
import { CachedObject } from '../../watch-cache/cached-object.ts'
import { unstored } from '../../watch-cache/encoding.ts'
import type { Action } from '../actions.ts'
import type { Machinery } from '../machinery.ts'

/** Under this name tools look for the store of a cluster. */
const STORE = 'etcd-0'

/** What the API server can tell of the components it depends on: its store. */
export const componentStatusActions: Readonly<Record<string, Action>> = {
  'list componentstatuses': async (machinery, { kind }) => ({
    type: 'list',
    kind,
    list: {
      objects: [await storeStatus(machinery)],
      revision: machinery.feed.revision,
      continueToken: '',
      remaining: undefined,
      identity: undefined,
    },
  }),
  'get componentstatuses': async (machinery, { kind, name }) => {
    if (name !== STORE) throw objectNotFound({ group: '', resource: 'componentstatuses' }, name)
    return { type: 'object', status: 200, kind, object: await storeStatus(machinery) }
  },
}

async function storeStatus({ store }: Machinery): Promise<CachedObject> {
  const failure = await store.revision().then(
    () => undefined,
    (error: unknown) => String(error),
  )
  const health =
    failure === undefined ? { status: 'True', message: 'ok' } : { status: 'False', message: '', error: failure }
  const status: ComponentStatus = {
    kind: 'ComponentStatus',
    apiVersion: 'v1',
    metadata: { name: STORE },
    conditions: [{ type: 'Healthy', ...health }],
  }
  return new CachedObject({ key: STORE, value: unstored(status), revision: 0 })
}
