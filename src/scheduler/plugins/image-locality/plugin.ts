import { MAX_SCORE, type SchedulerPlugin } from '../../plugin.ts'

const MEBIBYTE = 1024 * 1024
const LEAST = 23 * MEBIBYTE
const MOST_PER_CONTAINER = 1000 * MEBIBYTE

/** Prefers nodes that have the pod's images already. */
export const imageLocality: SchedulerPlugin = {
  name: 'ImageLocality',
  forClass(pod, { images }) {
    const { initContainers = [], containers } = pod.pod.spec!
    const names = [...initContainers, ...containers].map(({ image = '' }) => normalizedName(image))
    const most = MOST_PER_CONTAINER * names.length
    const stamp = () => images.version
    if (!names.some((name) => images.has(name))) return { stamp }
    return {
      stamp,
      nodeKey: `${images.version}|${names.join('|')}`,
      scoreNode(node) {
        const sum = names.reduce((total, name) => total + images.scaledSize(name, node), 0)
        const bounded = Math.min(most, Math.max(LEAST, sum))
        return Math.floor((MAX_SCORE * (bounded - LEAST)) / (most - LEAST))
      },
    }
  },
}

const normalizedName = (image: string) => (image.lastIndexOf(':') <= image.lastIndexOf('/') ? `${image}:latest` : image)
