/** Where `ip netns` keeps them: a file for each. */
export const NAMESPACE_DIRECTORY = '/run/netns'

/** Network namespaces with a name, as `ip netns` sees them, without `ip`. */
export interface NetworkNamespace {
  readonly name: string
  /** Open while the object is not disposed; the namespace itself lives on. */
  readonly fd: number
  [Symbol.dispose](): void
}

export interface NetworkNamespaces {
  create(name: string): NetworkNamespace
  open(name: string): NetworkNamespace
  /** Gives a namespace that somebody else made, and keeps at this path, a name here as well. */
  adopt(name: string, path: string): NetworkNamespace
  delete(name: string): void
  list(): string[]
  /**
   * Runs `work` with this thread inside the namespace. `work` must be synchronous: a socket made by FFI inside belongs to
   * the namespace for ever, but whatever Node does on a later tick (`net.connect`, `listen(port)`) is outside again.
   */
  inNamespace<T>(namespace: NetworkNamespace, work: () => T): T
}

/** What `ip netns` takes, and no path. */
export const isNamespaceName = (name: string) =>
  name.length > 0 && name.length <= 255 && name !== '.' && name !== '..' && !name.includes('/') && !name.includes('\0')
