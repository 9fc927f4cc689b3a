import { describe, expect, test } from 'vitest'
import { startTestCluster } from '../tools/cluster.ts'
import { listAt } from '../tools/json.ts'
import { NODE_VERSIONS, nodeBinary, nodeRunsHere } from '../tools/node.ts'
import { expectStatus } from '../tools/use-cluster.ts'

/** The built tool under every Node we promise, on the embedded store, over a restart. */
describe.runIf(nodeRunsHere).each(NODE_VERSIONS)('Node %s', (version) => {
  test('a cluster starts, serves, keeps its state over a restart and stops', async () => {
    const node = await nodeBinary(version)
    const first = await startTestCluster({ node })
    let folder: string | undefined
    try {
      expectStatus(await first.api.create('/api/v1/namespaces/default/configmaps', { metadata: { name: 'kept' } }), 201)
      const labels = { app: 'x' }
      const spec = {
        selector: { matchLabels: labels },
        template: { metadata: { labels }, spec: { containers: [{ name: 'a', image: 'b' }] } },
      }
      const deployments = '/apis/apps/v1/namespaces/default/deployments'
      const body = { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'web' }, spec }
      expectStatus(await first.api.patch(`${deployments}/web?fieldManager=tester`, body, 'apply'), 201)
      expectStatus(await first.api.patch(`${deployments}/web`, { spec: { replicas: 3 } }, 'strategic'), 200)
      expectStatus(await first.api.get('/openapi/v3'), 200)
      const watch = await first.api.watch('/api/v1/configmaps?watch=1')
      expect((await watch.next())?.type).toBe('ADDED')
      watch.close()
      await first.stop()
      folder = first.folder
      const second = await startTestCluster({ node, folder })
      const kept = expectStatus(await second.api.get('/api/v1/namespaces/default/configmaps'), 200)
      expect(listAt(kept.object, 'items').map((item) => (item.metadata as { name: string }).name)).toContain('kept')
      await second.stop()
    } finally {
      await first[Symbol.asyncDispose]()
    }
  })
})
