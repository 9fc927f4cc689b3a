/** Network namespaces for the tests of this folder: made by the test, gone after it, whatever happens in between. */
import { afterEach, expect } from 'vitest'
import type { Linux } from './linux.ts'
import type { NetworkNamespace } from './network-namespace.ts'
import { LinuxError } from './system-error.ts'

let made = 0

export const scratchName = () => `sampan-test-${process.pid}-${made++}`

export interface Scratch {
  readonly linux: Linux
  namespace(): NetworkNamespace
  /** Closed with the test. */
  use<T extends Disposable>(resource: T): T
}

export function scratch(open: () => Linux): () => Scratch {
  const resources: Disposable[] = []
  afterEach(() => {
    for (const resource of resources.splice(0).reverse()) resource[Symbol.dispose]()
  })
  return () => {
    const linux = open()
    const use = <T extends Disposable>(resource: T) => {
      resources.push(resource)
      return resource
    }
    const namespace = () => {
      const name = scratchName()
      const created = linux.namespaces.create(name)
      resources.push({
        [Symbol.dispose]: () => {
          created[Symbol.dispose]()
          if (linux.namespaces.list().includes(name)) linux.namespaces.delete(name)
        },
      })
      return created
    }
    return { linux, namespace, use }
  }
}

/** What the kernel answers: the name of the errno, or that it went well. */
export function codeOf(work: () => unknown): string {
  try {
    work()
    return 'ok'
  } catch (error) {
    if (error instanceof LinuxError) return error.code
    throw error
  }
}

export async function codeOfAsync(work: Promise<unknown>): Promise<string> {
  try {
    await work
    return 'ok'
  } catch (error) {
    if (error instanceof LinuxError) return error.code
    throw error
  }
}

/** Waits until the events that are on their way have come. */
export const eventually = (check: () => void) => expect.poll(() => check()).toBeUndefined()
