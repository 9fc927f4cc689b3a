/** What a hostile pod wants and must not get: files, a process and settings of the machine, which stay as they are. */
import { type ChildProcess, spawn } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'

/** What attempts are given to know. */
export interface Goal {
  /** A folder of the host, which the cluster's user owns: whatever escapes can read and write it. */
  readonly folder: string
  /** A file in it with the secret. */
  readonly secretFile: string
  /** A process of the cluster's user, with the secret in its environment. */
  readonly marker: number
  /** The cluster's data directory. */
  readonly dataDir: string
}

const SETTINGS = [
  ...['core_pattern', 'modprobe', 'hostname', 'domainname', 'sysrq', 'panic', 'randomize_va_space', 'core_uses_pid'],
  ...['poweroff_cmd', 'hotplug', 'shmmax', 'msgmax'],
].map((name) => `/proc/sys/kernel/${name}`)
const OTHER_SETTINGS = ['/proc/sys/vm/overcommit_memory', '/proc/sys/vm/panic_on_oom', '/sys/kernel/uevent_helper']
const HOST_FILES = ['/etc/passwd', '/etc/shadow', '/etc/group', '/etc/hostname', '/etc/crontab', '/etc/ld.so.preload']

export class Canaries implements Goal, Disposable {
  readonly folder = mkdtempSync(path.join(tmpdir(), 'sampan-canaries-'))
  readonly secret = `canary-${randomBytes(16).toString('hex')}`
  readonly secretFile = path.join(this.folder, 'secret')
  readonly dataDir: string
  readonly #marker: ChildProcess
  #before = new Map<string, string>()
  #keys: string[] = []

  constructor(dataDir: string, owner: number) {
    this.dataDir = dataDir
    this.#fill(owner)
    this.#marker = spawn('sleep', ['100000'], {
      uid: owner,
      gid: owner,
      env: { CANARY: this.secret },
      stdio: 'ignore',
    })
  }

  get marker(): number {
    return this.#marker.pid!
  }

  #fill(owner: number): void {
    chmodSync(this.folder, 0o755)
    const own = (name: string, mode: number) => {
      chmodSync(path.join(this.folder, name), mode)
      chownSync(path.join(this.folder, name), owner, owner)
    }
    const file = (name: string, mode: number, text: string | Buffer) => {
      writeFileSync(path.join(this.folder, name), text)
      own(name, mode)
    }
    for (const name of ['etc', 'open', 'empty']) mkdirSync(path.join(this.folder, name))
    file('secret', 0o600, `${this.secret}\n`)
    file('writable', 0o666, 'unchanged\n')
    file('busybox', 0o755, readFileSync('/bin/busybox'))
    file('open/kept', 0o666, 'unchanged\n')
    file('etc/passwd', 0o644, 'hostuser:x:0:0::/:/bin/sh\n')
    for (const name of ['etc', 'empty']) own(name, 0o755)
    own('open', 0o777)
    own('.', 0o755)
  }

  /** From now on everything stays as it is. */
  guard(): void {
    this.#before = this.#look()
    const pem = [...this.#before.keys()].filter((file) => this.#isOfCluster(file) && lstatSync(file).isFile())
    this.#keys = pem.flatMap((file) => privateKeysIn(readFileSync(file, 'utf8')))
  }

  /** Texts that no log, status or event may have. */
  get secrets(): readonly string[] {
    return [this.secret, ...this.#keys]
  }

  /** What is no longer as it was. */
  harm(): string[] {
    const now = this.#look()
    const changed = [...new Set([...this.#before.keys(), ...now.keys()])].filter(
      (file) => this.#before.get(file) !== now.get(file),
    )
    const told = changed.map((file) => `${file}: ${this.#before.get(file)} -> ${now.get(file)}`)
    const { exitCode, signalCode } = this.#marker
    if (exitCode !== null || signalCode !== null) told.push(`the marker process ended: ${signalCode}`)
    else if (/^State:\s*T/m.test(readFileSync(`/proc/${this.marker}/status`, 'utf8'))) told.push('it was stopped')
    return told
  }

  #isOfCluster = (file: string) => file.startsWith(this.dataDir)

  #look(): Map<string, string> {
    const found = new Map<string, string>()
    const add = (file: string) => {
      found.set(file, describe(file))
      if (lstatSync(file).isDirectory()) for (const name of readdirSync(file)) add(path.join(file, name))
    }
    add(this.folder)
    for (const place of ['pki', 'admin.kubeconfig', 'nodes/node-1/pki']) {
      const file = path.join(this.dataDir, place)
      if (existsSync(file)) add(file)
    }
    for (const file of HOST_FILES) found.set(file, existsSync(file) ? describe(file) : 'is not there')
    for (const file of [...SETTINGS, ...OTHER_SETTINGS])
      if (existsSync(file)) found.set(file, readFileSync(file, 'latin1'))
    found.set('names in /', readdirSync('/').join(' '))
    return found
  }

  [Symbol.dispose](): void {
    this.#marker.kill('SIGKILL')
    rmSync(this.folder, { recursive: true, force: true })
  }
}

/** Everything but the time of the last read. */
function describe(file: string): string {
  const { mode, uid, gid, size, mtimeMs, ino, nlink } = lstatSync(file)
  const isFile = lstatSync(file).isFile()
  const content = isFile ? createHash('sha256').update(readFileSync(file)).digest('hex').slice(0, 12) : ''
  return [`mode ${mode.toString(8)}`, `owner ${uid}:${gid}`, size, mtimeMs, ino, nlink, content].join(' ')
}

/** A line out of the middle of each key, as base64 inside base64 too. */
function privateKeysIn(text: string): string[] {
  const decoded = [...text.matchAll(/-data: (\S{100,})/g)].map(([, data]) => Buffer.from(data!, 'base64').toString())
  return [text, ...decoded].flatMap((one) =>
    [...one.matchAll(/PRIVATE KEY-----\n(?:\S{40,}\n)*?(\S{40,})\n/g)].map(([, line]) => line!),
  )
}
