import { afterAll, beforeAll, expect } from 'vitest'
import type { Answer, ApiAccess } from './api.ts'
import { type ClusterOptions, startTestCluster, type TestCluster } from './cluster.ts'

/** One cluster for all tests of a file, with a namespace of that file's own. */
export function useCluster(namespace: string, options: ClusterOptions = { controllers: false }) {
  let cluster: TestCluster | undefined
  beforeAll(async () => {
    cluster = await startTestCluster(options)
    expectStatus(await cluster.api.create('/api/v1/namespaces', { metadata: { name: namespace } }), 201)
  })
  afterAll(async () => {
    await cluster?.[Symbol.asyncDispose]()
  })
  const running = () => {
    if (!cluster) throw new Error('the cluster is not up yet')
    return cluster
  }
  return {
    get cluster(): TestCluster {
      return running()
    },
    get api(): ApiAccess {
      return running().api
    },
  }
}

/** Like `expect(answer.status).toBe(status)`, but says what the server wrote. */
export function expectStatus(answer: Answer, status: number): Answer {
  if (answer.status !== status) expect.fail(`${answer.status} instead of ${status}: ${answer.text.slice(0, 2000)}`)
  return answer
}
