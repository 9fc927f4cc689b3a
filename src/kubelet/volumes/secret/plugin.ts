import { writePayload } from '../atomic-writer.ts'
import { memoryFolder } from '../memory-folder.ts'
import { payloadOf, secretData } from '../payload.ts'
import type { VolumePlugin } from '../volume-plugin.ts'

/** The keys of a Secret as files. */
export const secretPlugin: VolumePlugin = {
  name: 'kubernetes.io~secret',
  supports: (volume) => volume.secret !== undefined,
  async mount({ context, pod, volume, directory }) {
    const { secretName = '', items, defaultMode, optional } = volume.secret!
    const found = await context.source.secret(pod.metadata.namespace ?? '', secretName)
    if (!found && !optional) throw new Error(`secret "${secretName}" not found`)
    await memoryFolder(context.mounter, directory)
    const payload = payloadOf(secretData(secretName, found), items, defaultMode, optional)
    await writePayload(directory, payload, context.clock.now())
    return { path: directory, readOnly: true, ownedByPod: true }
  },
}
