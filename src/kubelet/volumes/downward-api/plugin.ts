import type { DownwardAPIVolumeFile, Pod } from '../../../api/generated/core-v1.ts'
import { containerOf } from '../../environment/environment.ts'
import { podField, resourceField } from '../../environment/field-values.ts'
import { writePayload } from '../atomic-writer.ts'
import { memoryFolder } from '../memory-folder.ts'
import { DEFAULT_MODE, type PayloadFile } from '../payload.ts'
import type { VolumeContext, VolumePlugin } from '../volume-plugin.ts'

/** Fields of the pod itself as files. */
export const downwardApiPlugin: VolumePlugin = {
  name: 'kubernetes.io~downward-api',
  supports: (volume) => volume.downwardAPI !== undefined,
  async mount({ context, pod, volume, directory }) {
    const { items = [], defaultMode } = volume.downwardAPI!
    await memoryFolder(context.mounter, directory)
    await writePayload(directory, downwardFiles(pod, items, defaultMode, context), context.clock.now())
    return { path: directory, readOnly: true, ownedByPod: true }
  },
}

export function downwardFiles(
  pod: Pod,
  items: readonly DownwardAPIVolumeFile[],
  defaultMode: number | undefined,
  context: VolumeContext,
): Map<string, PayloadFile> {
  const addresses = { podIPs: [], hostIPs: [] }
  const files = new Map<string, PayloadFile>()
  for (const { path, mode, fieldRef, resourceFieldRef } of items) {
    const text = fieldRef
      ? podField(pod, fieldRef.fieldPath, addresses)
      : resourceField(containerOf(pod, resourceFieldRef?.containerName ?? ''), resourceFieldRef!, context.node())
    files.set(path, { data: Buffer.from(text), mode: mode ?? defaultMode ?? DEFAULT_MODE })
  }
  return files
}
