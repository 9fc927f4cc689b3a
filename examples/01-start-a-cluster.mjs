// A control plane inside this process: no port, no file, gone when the program ends.
import { startCluster } from 'sampan'

const cluster = await startCluster({ listen: false })
try {
  const configMaps = cluster.client
    .resource({ group: '', version: 'v1', plural: 'configmaps', namespaced: true })
    .namespace('default')
  await configMaps.create({ metadata: { name: 'boat' }, data: { colour: 'red' } })
  const boat = await configMaps.get('boat')
  console.log(`${boat.metadata.name} is ${boat.data.colour}`)
} finally {
  await cluster[Symbol.asyncDispose]()
}
