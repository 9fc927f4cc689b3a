/** Servers that only the node and only the machine may reach: on their loopback, with the secret as the answer. */
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { LOOPBACK_PORT } from './attempts/network.ts'
import type { Environment } from './environments.ts'

const SERVER = `
  const [secret, port] = process.argv.slice(1)
  require('node:dgram').createSocket('udp4').on('message', (text) => console.log('ESCAPED ' + text)).bind(port, '127.0.0.1')
  require('node:http').createServer((_, response) => response.end(secret)).listen(port, '127.0.0.1', () => console.log('ready'))`

export class LoopbackServers implements Disposable {
  readonly #servers: ChildProcess[]
  #said = ''

  private constructor(servers: ChildProcess[]) {
    this.#servers = servers
    for (const { stdout } of servers) stdout!.on('data', (text) => (this.#said += text))
  }

  static async start(environment: Environment): Promise<LoopbackServers> {
    const args = ['-e', SERVER, environment.canaries.secret, String(LOOPBACK_PORT)]
    const servers = [environment.onNode(process.execPath, ...args), environment.machine.spawn(process.execPath, args)]
    await Promise.all(servers.map(({ stdout }) => once(stdout!, 'data')))
    return new LoopbackServers(servers)
  }

  /** Datagrams that came through. */
  received(): string[] {
    return this.#said.split('\n').filter((line) => line.startsWith('ESCAPED'))
  }

  [Symbol.dispose](): void {
    for (const server of this.#servers) server.kill('SIGKILL')
  }
}
