import type { VolumePlugin } from '../volume-plugin.ts'

/** What is in an image (KEP-4639). It is pulled before the containers that mount it start, and mounted by the runtime. */
export const imagePlugin: VolumePlugin = {
  name: 'kubernetes.io~image',
  supports: ({ image }) => image !== undefined,
  async mount({ volume }) {
    const { reference = '', pullPolicy } = volume.image ?? {}
    const image = { reference, ...(pullPolicy && { pullPolicy }) }
    return { path: '', readOnly: true, ownedByPod: false, image }
  },
}
