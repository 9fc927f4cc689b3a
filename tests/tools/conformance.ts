import { test } from 'vitest'
import type { Pod } from '../../src/api/generated/core-v1.ts'
import type { Kind } from '../../src/api/kind.ts'
import { podKind } from '../../src/api/kinds/core/pod/kind.ts'
import type { KubernetesObject } from '../../src/api/meta/object.ts'
import type { ResourceClient } from '../../src/client/client.ts'
import { startCluster, type TestCluster, type TestClusterOptions } from '../../src/testing/index.ts'

/** A cluster with simulated nodes whose time stands, and short ways to what its tests look at. */
export interface ConformanceBench extends TestCluster {
  /** A resource in the namespace `default`. */
  of<T extends KubernetesObject>(kind: Kind<T>): ResourceClient<T>
  /** Pods of `default` by name, those that are being deleted included. */
  pods(labelSelector?: string): Promise<Pod[]>
  /** The code of the error with which a call fails. */
  codeOf(call: Promise<unknown>): Promise<number | undefined>
}

/** A test with a cluster of its own. */
export function conformanceTest(
  title: string,
  run: (bench: ConformanceBench) => Promise<void>,
  options: TestClusterOptions = {},
): void {
  test(title, async () => {
    await using cluster = await startCluster({ nodes: 2, seed: 1, ...options })
    await cluster.settled()
    const of = <T extends KubernetesObject>(kind: Kind<T>) => cluster.client.resource(kind).namespace('default')
    const bench: ConformanceBench = Object.assign(Object.create(cluster) as TestCluster, {
      of,
      async pods(labelSelector = '') {
        const { items } = await of(podKind).list({ labelSelector })
        return [...items].sort((a, b) => (a.metadata.name! < b.metadata.name! ? -1 : 1))
      },
      codeOf: (call: Promise<unknown>) =>
        call.then(
          () => undefined,
          (error: { code?: number }) => error.code,
        ),
    })
    await run(bench)
  })
}

export const template = (app: string, image = 'app:1', spec: object = {}) => ({
  metadata: { labels: { app } },
  spec: { containers: [{ name: 'app', image }], ...spec },
})

/** A workload of the group apps whose pods have the label `app`. */
export const workload = (kind: string, name: string, spec: object = {}, image = 'app:1') => ({
  apiVersion: 'apps/v1',
  kind,
  metadata: { name },
  spec: { selector: { matchLabels: { app: name } }, template: template(name, image), ...spec },
})

export const pod = (name: string, spec: object = {}, metadata: object = {}) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, labels: { app: name }, ...metadata },
  spec: { containers: [{ name: 'app', image: 'app:1' }], ...spec },
})

/** A condition that a test writes into a status. */
export const condition = (type: string, status = 'True') => ({
  type,
  status,
  reason: 'Test',
  message: 'set by the test',
})

export const images = (pods: readonly Pod[]) => pods.map(({ spec }) => spec?.containers[0]?.image)
export const names = (objects: readonly KubernetesObject[]) => objects.map(({ metadata }) => metadata.name)
export const ownerOf = ({ metadata }: KubernetesObject) =>
  metadata.ownerReferences?.find(({ controller }) => controller)
