// Every change of a resource, in order, from the moment of a list on.
import { startCluster } from 'sampan'

const cluster = await startCluster({ listen: false, controllers: false })
const stop = new AbortController()
try {
  const secrets = cluster.client
    .resource({ group: '', version: 'v1', plural: 'secrets', namespaced: true })
    .namespace('default')
  const { metadata } = await secrets.list()
  const watching = (async () => {
    // Changes that came together are handed over together.
    for await (const events of secrets.watch({ resourceVersion: metadata.resourceVersion, signal: stop.signal })) {
      for (const { type, object } of events) console.log(type, object.metadata.name)
      if (events.at(-1)?.type === 'DELETED') return
    }
  })()
  await secrets.create({ metadata: { name: 'password' } })
  await secrets.delete('password')
  await watching
} finally {
  stop.abort()
  await cluster[Symbol.asyncDispose]()
}
