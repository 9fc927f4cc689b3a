/**
 * The folder that holds everything, for several processes at once:
 *
 *   images.json     what images there are; replaced as a whole, under the lock
 *   layers/<id>/    fs/ and layer.json; appear whole, by a rename
 *   work/<owner>/   of one pull; anybody removes it whose owner is no more
 *   lock            who may change images.json and take layers away
 */
import fs from 'node:fs'
import path from 'node:path'
import type { Clock } from '../../../base/clock.ts'
import { claim, isAlive, release, thisProcess } from '../../../base/process-claim.ts'
import { imageError } from '../image-error.ts'

const RETRY = 20
const PATIENCE = 60_000
/** Of this process, by the folder: two stores of one process take turns as well. */
const queues = new Map<string, Promise<unknown>>()
let leases = 0

export class StoreFolder {
  readonly root: string
  readonly #clock: Clock

  constructor(root: string, clock: Clock) {
    this.root = path.resolve(root)
    this.#clock = clock
    // Programs in it may have the setuid bit: nobody else gets in.
    fs.mkdirSync(this.root, { recursive: true, mode: 0o700 })
    fs.chmodSync(this.root, 0o700)
    for (const folder of [this.layers, this.work]) fs.mkdirSync(folder, { recursive: true, mode: 0o700 })
  }

  get layers(): string {
    return path.join(this.root, 'layers')
  }

  get work(): string {
    return path.join(this.root, 'work')
  }

  get index(): string {
    return path.join(this.root, 'images.json')
  }

  /** A folder for work in progress; as long as it exists, nobody takes layers away. */
  lease(): string {
    const { pid, startTime } = thisProcess()
    const folder = path.join(this.work, `${pid}_${startTime.replace(':', '_')}_${++leases}`)
    fs.mkdirSync(folder, { mode: 0o700 })
    return folder
  }

  /** Work in progress of living processes; what dead ones left is told apart. */
  leases(): { readonly live: string[]; readonly left: string[] } {
    const live: string[] = []
    const left: string[] = []
    for (const name of fs.readdirSync(this.work)) {
      const [pid, ...startTime] = name.split('_').slice(0, 3)
      const alive = isAlive({ pid: Number(pid), startTime: startTime.join(':') })
      ;(alive ? live : left).push(path.join(this.work, name))
    }
    return { live, left }
  }

  /** One at a time, among all processes. */
  async locked<T>(work: () => Promise<T>): Promise<T> {
    const before = queues.get(this.root) ?? Promise.resolve()
    const turn = before.then(() => this.#withLock(work))
    const done = turn.catch(() => {})
    queues.set(this.root, done)
    void done.then(() => {
      if (queues.get(this.root) === done) queues.delete(this.root)
    })
    return turn
  }

  async #withLock<T>(work: () => Promise<T>): Promise<T> {
    const lock = path.join(this.root, 'lock')
    const until = this.#clock.now() + PATIENCE
    for (let other = await claim(lock, thisProcess()); other; other = await claim(lock, thisProcess())) {
      if (this.#clock.now() > until)
        throw imageError('Unavailable', `process ${other.pid} keeps the image store locked`)
      await this.#clock.sleep(RETRY)
    }
    try {
      return await work()
    } finally {
      await release(lock, process.pid)
    }
  }
}
