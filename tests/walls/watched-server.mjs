// The built API server and controllers, with a watch on the event loop: tells, when asked, for how much CPU time one piece
// of work kept all others waiting. CPU time and not time, since these tests share a machine with whatever else runs there.
// Takes the path of the library and of the kubeconfig to write.
import { readFileSync, writeFileSync } from 'node:fs'
import { pathToFileURL } from 'node:url'

const [library, kubeconfig] = process.argv.slice(2)
const { startCluster } = await import(pathToFileURL(library).href)
const cluster = await startCluster({ name: 'test' })
writeFileSync(kubeconfig, cluster.kubeconfig, { mode: 0o600 })

/** Milliseconds for which this thread has been running. */
const cpuTime = () => Number(readFileSync('/proc/thread-self/schedstat', 'latin1').split(' ')[0]) / 1e6

let longest = 0
let before = cpuTime()
// Timers are looked at in every turn of the event loop.
setInterval(() => {
  const now = cpuTime()
  longest = Math.max(longest, now - before)
  before = now
}, 1)
process.on('message', () => {
  process.send(longest)
  longest = 0
})
process.once('SIGTERM', async () => {
  await cluster[Symbol.asyncDispose]()
  process.exit()
})
process.send('ready')
