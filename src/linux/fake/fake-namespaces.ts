import { refusePromise } from '../namespaces/kernel-namespaces.ts'
import {
  isNamespaceName,
  NAMESPACE_DIRECTORY,
  type NetworkNamespace,
  type NetworkNamespaces,
} from '../network-namespace.ts'
import { LinuxError } from '../system-error.ts'
import { EEXIST, EINVAL, ENOENT } from './errors.ts'

/** `State` is what the fake kernel keeps for each namespace. */
export class FakeNamespaces<State> implements NetworkNamespaces {
  private readonly byName = new Map<string, State>()
  private readonly byFd = new Map<number, State>()
  private readonly newState: () => State
  private readonly own: State
  private nextFd = 1000

  constructor(newState: () => State) {
    this.newState = newState
    this.own = newState()
  }

  create(name: string): NetworkNamespace {
    this.checkName(name)
    if (this.byName.has(name)) throw new LinuxError(EEXIST, `namespace ${name}`)
    const state = this.newState()
    this.byName.set(name, state)
    return this.handle(name, state)
  }

  /** Paths are known of namespaces that have a name already. */
  adopt(name: string, path: string): NetworkNamespace {
    this.checkName(name)
    if (this.byName.has(name)) throw new LinuxError(EEXIST, `namespace ${name}`)
    const state = this.named(path.slice(NAMESPACE_DIRECTORY.length + 1))
    this.byName.set(name, state)
    return this.handle(name, state)
  }

  open(name: string): NetworkNamespace {
    return this.handle(name, this.named(name))
  }

  delete(name: string): void {
    this.named(name)
    this.byName.delete(name)
  }

  list(): string[] {
    return [...this.byName.keys()].sort()
  }

  inNamespace<T>(namespace: NetworkNamespace, work: () => T): T {
    this.stateOf(namespace)
    return refusePromise(work())
  }

  stateOf(namespace: NetworkNamespace | undefined): State {
    if (!namespace) return this.own
    const state = this.byFd.get(namespace.fd)
    if (!state) throw new LinuxError(EINVAL, 'setns')
    return state
  }

  private named(name: string): State {
    this.checkName(name)
    const state = this.byName.get(name)
    if (!state) throw new LinuxError(ENOENT, `namespace ${name}`)
    return state
  }

  private checkName(name: string): void {
    if (!isNamespaceName(name)) throw new LinuxError(EINVAL, `namespace ${name}`)
  }

  private handle(name: string, state: State): NetworkNamespace {
    const fd = this.nextFd++
    this.byFd.set(fd, state)
    return { name, fd, [Symbol.dispose]: () => void this.byFd.delete(fd) }
  }
}
