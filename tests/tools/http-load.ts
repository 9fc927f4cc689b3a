/** Clients that ask all the time, in a process of their own: by new connections and by kept ones. */
import type { ChildProcess } from 'node:child_process'
import path from 'node:path'
import type { Machine } from './machine.ts'

export interface LoadResult {
  readonly fresh: number
  readonly kept: number
  /** All that were made, by both kinds of clients. */
  readonly connections: number
  readonly servers: Readonly<Record<string, number>>
  readonly failures: readonly string[]
}

export interface HttpLoad extends AsyncDisposable {
  end(): Promise<LoadResult>
}

const SCRIPT = path.join(import.meta.dirname, 'http-load.mjs')
const CLIENTS_OF_A_KIND = 3

/** `start` runs the command where the clients shall be. */
export function httpLoad(url: string, start: (command: string, args: string[]) => ChildProcess): HttpLoad {
  const child = start(process.execPath, [SCRIPT, url, String(CLIENTS_OF_A_KIND)])
  const result = new Promise<LoadResult>((resolve, reject) => {
    let text = ''
    child.stdout!.on('data', (chunk) => (text += chunk))
    child.once('error', reject)
    child.once('close', (code) => (code === 0 ? resolve(JSON.parse(text)) : reject(new Error(`load ended by ${code}`))))
  })
  result.catch(() => {})
  return {
    end() {
      child.stdin!.end()
      return result
    },
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL')
    },
  }
}

export function startLoad(machine: Machine, node: string, url: string): HttpLoad {
  using namespace = machine.linux.namespaces.open(`sampan-${machine.id}-${node}`)
  return httpLoad(url, (command, args) => machine.spawn(command, args, namespace))
}
