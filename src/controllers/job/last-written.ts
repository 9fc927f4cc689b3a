import type { KubernetesObject } from '../../api/meta/object.ts'

/** Objects as last written, until the informer shows them: deciding from an older state would decide twice. */
export class LastWritten<T extends KubernetesObject> {
  readonly #objects = new Map<string, T>()

  set(key: string, object: T): T {
    this.#objects.set(key, object)
    return object
  }

  /** What the informer shows, or what was written since. */
  newest(key: string, shown: T | undefined): T | undefined {
    const written = this.#objects.get(key)
    if (!written) return shown
    const isBehind =
      shown?.metadata.uid === written.metadata.uid &&
      Number(shown?.metadata.resourceVersion) < Number(written.metadata.resourceVersion)
    if (isBehind) return written
    this.#objects.delete(key)
    return shown
  }
}
