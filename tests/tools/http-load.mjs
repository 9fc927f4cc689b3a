/**
 * Asks a server all the time until standard input ends, by new connections and by kept ones, then tells how often it was
 * answered and everything that went wrong: `node http-load.mjs http://10.96.0.1:80 4`
 */
import { Agent, request } from 'node:http'
import { setTimeout } from 'node:timers/promises'

const [, , url, clients] = process.argv
const PATIENCE_MS = 20_000
/** The kernel keeps the port of an ended connection for a minute, and has 28,000 of them. */
const PAUSE_BETWEEN_CONNECTIONS_MS = 10
const result = { fresh: 0, kept: 0, connections: 0, servers: {}, failures: [] }
let isDone = false
process.stdin.resume()
process.stdin.once('end', () => {
  isDone = true
})

function ask(agent) {
  return new Promise((resolve, reject) => {
    const asked = request(url, { agent, timeout: PATIENCE_MS }, (answer) => {
      let text = ''
      answer.setEncoding('utf8')
      answer.on('data', (chunk) => {
        text += chunk
      })
      answer.once('error', reject)
      answer.once('end', () => (answer.complete ? resolve(text) : reject(new Error('cut off'))))
    })
    asked.once('socket', () => {
      if (!asked.reusedSocket) result.connections++
    })
    asked.once('timeout', () => asked.destroy(new Error('no answer in time')))
    asked.once('error', reject)
    asked.end()
  })
}

async function client(kind) {
  const agent = new Agent({ keepAlive: kind === 'kept', maxSockets: 1 })
  while (!isDone) {
    if (kind === 'fresh') await setTimeout(PAUSE_BETWEEN_CONNECTIONS_MS)
    try {
      const server = await ask(agent)
      result[kind]++
      result.servers[server] = (result.servers[server] ?? 0) + 1
    } catch (error) {
      result.failures.push(`${kind}: ${error.code ?? error.message}`)
    }
  }
  agent.destroy()
}

await Promise.all(Array.from({ length: Number(clients) }, () => [client('fresh'), client('kept')]).flat())
process.stdout.write(JSON.stringify(result))
process.exit(0)
