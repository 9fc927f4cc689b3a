// node --test examples/testing/cron-job.node-test.mjs: six hours of an hourly CronJob in a moment.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { startCluster } from 'sampan/testing'

const JOBS = { group: 'batch', version: 'v1', plural: 'jobs', namespaced: true }
let cluster

before(async () => {
  cluster = await startCluster({ nodes: 2, seed: 42 })
})
after(() => cluster.dispose())

test('an hourly job runs six times in six hours', async () => {
  await cluster.apply(`
    apiVersion: batch/v1
    kind: CronJob
    metadata: { name: backup }
    spec:
      schedule: "0 * * * *"
      successfulJobsHistoryLimit: 100
      jobTemplate:
        spec:
          template:
            spec:
              restartPolicy: Never
              containers: [{ name: backup, image: backup, command: [sleep, "30"] }]
  `)
  await cluster.settled()
  await cluster.clock.advance('6h')
  await cluster.clock.advance('5m')
  const { items } = await cluster.client.resource(JOBS).namespace('default').list()
  assert.equal(items.length, 6)
  assert.ok(items.every(({ status }) => status.succeeded === 1))
})
