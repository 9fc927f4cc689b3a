// Store and API server of the built package, without controllers: for tests of the API itself, where a controller
// would write into the objects they look at. Takes the path of the library and of the kubeconfig to write.
import { writeFileSync } from 'node:fs'
import { pathToFileURL } from 'node:url'

const [library, kubeconfig] = process.argv.slice(2)
const { startCluster } = await import(pathToFileURL(library).href)
const cluster = await startCluster({ name: 'test', controllers: false })
writeFileSync(kubeconfig, cluster.kubeconfig, { mode: 0o600 })
process.once('SIGTERM', () => cluster[Symbol.asyncDispose]())
console.log('ready')
