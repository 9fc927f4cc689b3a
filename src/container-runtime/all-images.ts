import type { ImageContents } from './image-content.ts'
import type { ImageService } from './image-service.ts'

export type Images = ImageService & ImageContents

/** The host image and the store as one: the host image is what it says it is, everything else is the store's. */
export function allImages(host: Images, store: Images): Images {
  const holder = async (reference: string) => ((await host.status(reference)) ? host : store)
  return {
    list: async () => [...(await host.list()), ...(await store.list())],
    status: async (reference) => (await host.status(reference)) ?? (await store.status(reference)),
    pull: async (reference, options) => (await holder(reference)).pull(reference, options),
    remove: async (reference) => (await holder(reference)).remove(reference),
    import: (path) => store.import(path),
    fsInfo: () => store.fsInfo(),
    content: async (imageId, annotations) => (await holder(imageId)).content(imageId, annotations),
  }
}
