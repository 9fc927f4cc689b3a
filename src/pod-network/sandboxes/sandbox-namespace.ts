import type { Linux } from '../../linux/linux.ts'
import { NAMESPACE_DIRECTORY, type NetworkNamespace } from '../../linux/network-namespace.ts'
import { hasCode } from '../../linux/system-error.ts'
import type { PodSandbox } from '../pod-network.ts'

/** The name of a sandbox' network namespace, as `ip netns` shows it. */
export const sandboxNamespace = (sandboxId: string) => `sampan-${sandboxId}`

export const sandboxNamespacePath = (sandboxId: string) => `${NAMESPACE_DIRECTORY}/${sandboxNamespace(sandboxId)}`

export function openSandboxNamespace({ namespaces }: Linux, sandboxId: string): NetworkNamespace | undefined {
  return unlessMissing(() => namespaces.open(sandboxNamespace(sandboxId)))
}

/** A runtime that makes namespaces itself keeps its own name for it; ours comes beside. */
export function makeSandboxNamespace({ namespaces }: Linux, { sandboxId, netnsPath }: PodSandbox): NetworkNamespace {
  const name = sandboxNamespace(sandboxId)
  return netnsPath === undefined ? namespaces.create(name) : namespaces.adopt(name, netnsPath)
}

export function deleteSandboxNamespace({ namespaces }: Linux, sandboxId: string): void {
  unlessMissing(() => namespaces.delete(sandboxNamespace(sandboxId)))
}

function unlessMissing<T>(work: () => T): T | undefined {
  try {
    return work()
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined
    throw error
  }
}
