import type { PersistentVolumeClaim } from '../../../api/generated/core-v1.ts'
import { persistentVolumeKind } from '../../../api/kinds/core/persistent-volume/kind.ts'
import { persistentVolumeClaimKind } from '../../../api/kinds/core/persistent-volume-claim/kind.ts'
import { ANNOTATION } from '../../../api/meta/well-known.ts'
import type { VolumeChoice } from './find-volumes.ts'
import { isBound, type Storage } from './storage.ts'

/** Provisioning may take a while; after this the pod is tried again from the start. */
const BIND_TIMEOUT = 600_000

/** Writes the choice into the API and waits until the volume controllers have made it true. */
export async function bindVolumes(choice: VolumeChoice, nodeName: string, storage: Storage): Promise<void> {
  await Promise.all([
    ...choice.volumes.map(({ claim, volume }) => {
      if (volume.spec?.claimRef?.uid) return undefined
      const { name, namespace, uid, resourceVersion } = claim.metadata
      const claimRef = { kind: 'PersistentVolumeClaim', apiVersion: 'v1', name, namespace, uid, resourceVersion }
      return storage.client.resource(persistentVolumeKind).patch(volume.metadata.name!, {
        metadata: {
          resourceVersion: volume.metadata.resourceVersion,
          annotations: { [ANNOTATION.boundByController]: 'yes' },
        },
        spec: { claimRef },
      })
    }),
    ...choice.provisioned.map(({ metadata }) =>
      storage.client
        .resource(persistentVolumeClaimKind)
        .namespace(metadata.namespace!)
        .patch(metadata.name!, { metadata: { annotations: { [ANNOTATION.selectedNode]: nodeName } } }),
    ),
  ])
  const claims = [...choice.volumes.map(({ claim }) => claim), ...choice.provisioned]
  await storage.waits.during((signal) =>
    Promise.all(claims.map((claim) => untilBound(claim, nodeName, storage, signal))),
  )
}

function untilBound(
  { metadata }: PersistentVolumeClaim,
  nodeName: string,
  storage: Storage,
  signal: AbortSignal,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const finish = (end: () => void) => {
      stop()
      timer.cancel()
      end()
    }
    const look = (claim: PersistentVolumeClaim | undefined) => {
      if (!claim || claim.metadata.uid !== metadata.uid)
        return finish(() => reject(new Error(`persistentvolumeclaim "${metadata.name}" is gone`)))
      if (isBound(claim)) return finish(resolve)
      const selected = claim.metadata.annotations?.[ANNOTATION.selectedNode]
      // The provisioner gives a node up by taking the annotation away.
      if (wasSelected && selected === undefined)
        finish(() => reject(new Error(`provisioning of "${metadata.name}" failed on node ${nodeName}`)))
      wasSelected ||= selected === nodeName
    }
    let wasSelected = false
    const timer = storage.clock
      .after(BIND_TIMEOUT, () =>
        finish(() => reject(new Error(`timed out waiting for "${metadata.name}" to be bound`))),
      )
      .unref()
    const stop = storage.onClaimChange((claim) => {
      if (claim.metadata.name === metadata.name && claim.metadata.namespace === metadata.namespace) look(claim)
    })
    signal.addEventListener('abort', () => finish(() => reject(new Error('the scheduler stops'))), { once: true })
    const current = storage.claim(metadata.namespace!, metadata.name!)
    if (current && isBound(current)) finish(resolve)
  })
}
