import type { RemoteOpenApi } from '../../openapi/openapi.ts'
import type { RemoteGroups } from '../discovery/discovery.ts'
import { groupPriorityOf, versionPriorityOf } from './priorities.ts'
import { aggregatedResources, mergeV2 } from './remote-documents.ts'
import type { RemoteServices } from './remote-service.ts'

/** What discovery tells of other servers' groups. Those that do not answer are told of all the same. */
export function remoteGroups(remotes: () => RemoteServices): RemoteGroups {
  return {
    versions: () =>
      [...remotes().list()].map((remote) => ({
        group: remote.group,
        version: remote.version,
        groupPriority: remote.object.spec?.groupPriorityMinimum ?? 0,
        versionPriority: remote.object.spec?.versionPriority ?? 0,
        resources: aggregatedResources(remote),
        isCurrent: remote.isAvailable,
      })),
    priorities: { group: groupPriorityOf, version: versionPriorityOf },
  }
}

export function remoteOpenApi(remotes: () => RemoteServices): RemoteOpenApi {
  const list = () => [...remotes().list()]
  return {
    v3Locations: () =>
      list().flatMap(({ group, version, openApiV3 }) =>
        openApiV3 === undefined ? [] : [[`apis/${group}/${version}`, openApiV3] as const],
      ),
    v2Fingerprint: () => JSON.stringify(list().map(({ group, openApiV2 }) => [group, openApiV2?.etag])),
    mergeV2: (document) => mergeV2(document, list()),
  }
}
