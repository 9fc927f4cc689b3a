import { createRequire } from 'node:module'
import { Worker } from 'node:worker_threads'
import { badRequest, serviceUnavailable } from '../../api/meta/api-error.ts'
import { YAML_LIMITS } from '../../api/schema/decode-yaml.ts'
import { KEY_WEIGHT, MANY_KEYS, weightOf } from '../../api/schema/json-scan.ts'
import { YamlReader, type YamlResult } from '../../api/schema/yaml-reader.ts'
import type { Clock } from '../../base/clock.ts'

/** Whoever needs more time or memory than this is refused; the thread starts again. */
const LIMIT_MS = 30_000
const LIMIT_MB = 1024

/** The thread as text: the same from sources, from a bundle and in tests, where a worker could not load TypeScript. */
const program = () => `
'use strict'
const { parentPort, workerData } = require('node:worker_threads')
const yaml = require(workerData.yaml)
const YamlReader = ${YamlReader.toString()}
const MANY_KEYS = ${MANY_KEYS}
const KEY_WEIGHT = ${KEY_WEIGHT}
const weightOf = ${weightOf.toString()}
const reader = new YamlReader(yaml, workerData.limits, weightOf)
const parse = (bytes) => JSON.parse(Buffer.from(bytes).toString())
const conversions = {
  readYaml: (text) => reader.read(text),
  writeYaml: (bytes) => Buffer.from(yaml.stringify(parse(bytes), { lineWidth: 0, aliasDuplicateObjects: false })),
  indent: (bytes) => Buffer.from(JSON.stringify(parse(bytes), null, 2)),
}
parentPort.on('message', ({ conversion, input }) => {
  try {
    parentPort.postMessage({ output: conversions[conversion](input) })
  } catch (error) {
    parentPort.postMessage({ failure: String(error) })
  }
})
`

interface Job {
  readonly conversion: 'readYaml' | 'writeYaml' | 'indent'
  readonly input: string | Buffer
  readonly resolve: (output: unknown) => void
  readonly reject: (error: Error) => void
}

type Reply = { readonly output: unknown } | { readonly failure: string }

/**
 * Converts large bodies between JSON and YAML in a thread of its own, which starts with the first of them: the parser of
 * YAML takes a second for a megabyte. Users take turns, so that nobody waits for all that another one has sent.
 */
export class ConversionThread implements AsyncDisposable {
  readonly #clock: Clock
  /** In the order in which users come to their turn. */
  readonly #waiting = new Map<string, Job[]>()
  #worker: Worker | undefined
  #isBusy = false

  constructor(clock: Clock) {
    this.#clock = clock
  }

  readYaml(user: string, text: string): Promise<YamlResult> {
    return this.#convert<YamlResult>(user, 'readYaml', text).catch((error) => {
      throw badRequest(`error converting YAML to JSON: yaml: ${error.message}; send JSON instead`)
    })
  }

  /** The same JSON as YAML, or on many lines. */
  async write(user: string, conversion: 'writeYaml' | 'indent', json: Buffer): Promise<Buffer> {
    const bytes = await this.#convert<Uint8Array>(user, conversion, json).catch((error) => {
      throw serviceUnavailable(`the answer cannot be written in this form: ${error.message}`)
    })
    return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  }

  #convert<Output>(user: string, conversion: Job['conversion'], input: string | Buffer): Promise<Output> {
    return new Promise<unknown>((resolve, reject) => {
      const job: Job = { conversion, input, resolve, reject }
      const queue = this.#waiting.get(user)
      if (queue) queue.push(job)
      else this.#waiting.set(user, [job])
      this.#next()
    }) as Promise<Output>
  }

  #next(): void {
    if (this.#isBusy) return
    for (const [user, queue] of this.#waiting) {
      const job = queue.shift()
      this.#waiting.delete(user)
      if (queue.length > 0) this.#waiting.set(user, queue)
      if (job) this.#run(job)
      return
    }
  }

  #run({ conversion, input, resolve, reject }: Job): void {
    this.#isBusy = true
    this.#worker ??= this.#start()
    const worker = this.#worker
    const done = () => {
      timer.cancel()
      worker.off('message', onMessage).off('error', onError).off('exit', onExit)
      this.#isBusy = false
      this.#next()
    }
    const fail = (message: string) => {
      this.#worker = undefined
      reject(new Error(message))
      done()
    }
    const onMessage = (reply: Reply) => {
      if ('output' in reply) resolve(reply.output)
      else reject(new Error(reply.failure))
      done()
    }
    const onError = () => fail('it needs too much memory')
    const onExit = () => fail('it takes too long')
    const timer = this.#clock.after(LIMIT_MS, () => void worker.terminate()).unref()
    worker.on('message', onMessage).on('error', onError).on('exit', onExit)
    worker.postMessage({ conversion, input })
  }

  #start(): Worker {
    const workerData = { yaml: createRequire(import.meta.url).resolve('yaml'), limits: YAML_LIMITS }
    const resourceLimits = { maxOldGenerationSizeMb: LIMIT_MB }
    const worker = new Worker(program(), { eval: true, execArgv: [], name: 'conversions', workerData, resourceLimits })
    worker.unref()
    // What ends it is told to the job that it has.
    worker.on('error', () => {})
    return worker
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#worker?.terminate()
  }
}
