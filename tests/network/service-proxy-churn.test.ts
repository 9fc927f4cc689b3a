/**
 * Endpoints come and go under load, as pods of a rolling update do: ready, terminating while it still serves, gone. No request
 * may fail. `SAMPAN_CHURN_SECONDS=60` for longer.
 */
import { spawn } from 'node:child_process'
import { createServer, type Server } from 'node:http'
import { describe, expect, test } from 'vitest'
import type { EndpointConditions } from '../../src/api/generated/discovery-v1.ts'
import { linuxCalls } from '../../src/linux/ffi.ts'
import { addressOf, THIS_NODE } from '../../src/service-proxy/packet-flow-objects.contract.ts'
import type { ServiceProxy } from '../../src/service-proxy/service-proxy.ts'
import { asRoot } from '../linux/as-root.ts'
import { httpLoad } from '../tools/http-load.ts'
import { startFlowNetwork } from './flow-network.ts'
import { makeSocket, type Place, socketAddress } from './flow-sockets.ts'
import { VARIANTS } from './proxy-variants.ts'
import { RunningProxies } from './running-proxy.ts'

const SECONDS = Number(process.env.SAMPAN_CHURN_SECONDS ?? 6)
const PLACES = ['L1', 'L2', 'R1', 'R2']
const FEWEST = 2
const MOST = 5
const PAUSE_MS = 60
/** As long as an application goes on after it was told to end. */
const GRACE_MS = 400
const FIRST_PORT = 20_000

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

/** A pod that ends as a good one does: it answers until its connections are gone, and asks clients to close them. */
class Pod {
  readonly name: string
  readonly ip: string
  readonly port: number
  readonly place: string
  #isEnding = false
  readonly #server: Server

  constructor(number: number) {
    this.place = PLACES[number % PLACES.length]!
    this.port = FIRST_PORT + number
    this.ip = addressOf(this.place, 'IPv4')
    this.name = `${this.place}-${number}`
    this.#server = createServer((_, answer) => {
      if (this.#isEnding) answer.setHeader('connection', 'close')
      answer.end(this.name)
    })
    this.#server.keepAliveTimeout = 0
  }

  start(place: Place): Promise<void> {
    const fd = makeSocket(place, 'IPv4', 'TCP')
    linuxCalls().bind(fd, socketAddress(this.ip, this.port))
    return new Promise((resolve) => this.#server.listen({ fd, backlog: 128 }, resolve))
  }

  /** Told to end: it still serves. */
  terminate(): void {
    this.#isEnding = true
  }

  end(): void {
    this.#server.close()
    this.#server.closeIdleConnections()
  }

  kill(): void {
    this.#server.close()
    this.#server.closeAllConnections()
  }
}

class Rollout {
  readonly #running: RunningProxies
  readonly #proxy: ServiceProxy
  readonly #pods: Pod[] = []
  readonly #ending: Promise<void>[] = []
  #made = 0

  constructor(running: RunningProxies, proxy: ServiceProxy) {
    this.#running = running
    this.#proxy = proxy
  }

  get made(): number {
    return this.#made
  }

  async add(): Promise<void> {
    const pod = new Pod(this.#made++)
    await pod.start(this.#running.network.place(pod.place))
    this.#pods.push(pod)
    await this.#running.slices().create(this.#slice(pod, { ready: true, serving: true, terminating: false }))
  }

  async remove(): Promise<void> {
    const pod = this.#pods.shift()!
    pod.terminate()
    await this.#running.slices().update(this.#slice(pod, { ready: false, serving: true, terminating: true }))
    this.#ending.push(this.#end(pod))
  }

  async run(seconds: number): Promise<void> {
    const end = Date.now() + seconds * 1000
    for (let step = 0; Date.now() < end; step++) {
      const isGrowing = this.#pods.length <= FEWEST || (this.#pods.length < MOST && step % 3 !== 0)
      await (isGrowing ? this.add() : this.remove())
      await pause(PAUSE_MS)
    }
    await Promise.all(this.#ending)
    await this.#proxy.settled()
  }

  kill(): void {
    for (const pod of this.#pods.splice(0)) pod.kill()
  }

  async #end(pod: Pod): Promise<void> {
    await this.#proxy.settled()
    await pause(GRACE_MS)
    pod.end()
    await this.#running.slices().delete(`web-${pod.port}`)
  }

  /** A slice for each, since each has a port of its own. */
  #slice({ ip, port, place }: Pod, conditions: EndpointConditions) {
    return {
      metadata: { namespace: 'default', name: `web-${port}`, labels: { 'kubernetes.io/service-name': 'web' } },
      addressType: 'IPv4',
      ports: [{ name: 'tcp', protocol: 'TCP', port }],
      endpoints: [{ addresses: [ip], nodeName: place.startsWith('L') ? THIS_NODE : 'there', conditions }],
    }
  }
}

describe.each(VARIANTS)('%s', (variant) => {
  asRoot('endpoints come and go', () => {
    test('no request fails', { timeout: SECONDS * 1000 + 60_000 }, async () => {
      await using network = await startFlowNetwork()
      await using running = await RunningProxies.start(network)
      const ports = [{ name: 'tcp', protocol: 'TCP', port: 80 }]
      const service = await running.services().create({ metadata: { name: 'web' }, spec: { ports } })
      const proxy = await running.startProxy(variant)
      const rollout = new Rollout(running, proxy)
      for (let i = 0; i < FEWEST; i++) await rollout.add()
      await proxy.settled()
      const { linux, namespace } = network.place('P')
      await using load = httpLoad(`http://${service.spec!.clusterIP}`, (command, args) =>
        linux.namespaces.inNamespace(namespace, () => spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'] })),
      )
      try {
        await rollout.run(SECONDS)
        const { fresh, kept, connections, servers, failures } = await load.end()
        console.log(
          `${variant}: ${fresh} requests by new connections and ${kept} by ${connections - fresh} kept ones to ` +
            `${Object.keys(servers).length} of ${rollout.made} endpoints in ${SECONDS} s, ${failures.length} failed`,
        )
        expect(failures).toEqual([])
        expect(fresh).toBeGreaterThan(0)
        expect(kept).toBeGreaterThan(connections - fresh)
        expect(Object.keys(servers).length).toBeGreaterThan(FEWEST)
      } finally {
        rollout.kill()
      }
    })
  })
})
