import { writePayload } from '../atomic-writer.ts'
import { configMapData, payloadOf } from '../payload.ts'
import type { VolumePlugin } from '../volume-plugin.ts'

/** The keys of a ConfigMap as files. */
export const configMapPlugin: VolumePlugin = {
  name: 'kubernetes.io~configmap',
  supports: (volume) => volume.configMap !== undefined,
  async mount({ context, pod, volume, directory }) {
    const { name = '', items, defaultMode, optional } = volume.configMap!
    const found = await context.source.configMap(pod.metadata.namespace ?? '', name)
    if (!found && !optional) throw new Error(`configmap "${name}" not found`)
    const payload = payloadOf(configMapData(name, found), items, defaultMode, optional)
    await writePayload(directory, payload, context.clock.now())
    return { path: directory, readOnly: true, ownedByPod: true }
  },
}
