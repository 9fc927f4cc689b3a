// A cluster on a port of its own, for kubectl or any other client: everything they need is in the kubeconfig.
import { startCluster } from 'sampan'

const cluster = await startCluster({ name: 'example' })
try {
  console.log(`serving ${new URL(cluster.url).protocol}//`)
  console.log(cluster.kubeconfig.match(/^current-context: .*$/m)?.[0])
} finally {
  await cluster[Symbol.asyncDispose]()
}
