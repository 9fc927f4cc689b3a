/** The commands that this mode works through: those of the machine, in the node's network namespace. */
import { type ChildProcess, spawn } from 'node:child_process'
import { accessSync, constants } from 'node:fs'
import path from 'node:path'
import type { IPFamily } from '../../base/ip-address.ts'
import type { Linux } from '../../linux/linux.ts'
import type { NetworkNamespace } from '../../linux/network-namespace.ts'
import { legacyFingerprint } from './legacy-tables.ts'

/** `nft` writes into the kernel's nftables, `legacy` into what was there before; '' is what the machine prefers. */
export type IptablesVariant = 'nft' | 'legacy' | ''

export interface IptablesCommands {
  /** Why they cannot be used. */
  unsupported(): string | undefined
  /** Without flushing what it does not name; each table of the text is all or nothing. */
  restore(family: IPFamily, text: string): Promise<void>
  save(family: IPFamily): Promise<string>
  /** Whether a table still has the chain. */
  hasChain(family: IPFamily, table: string, chain: string): Promise<boolean>
  /** Another one when the rules are others, of tables that tell nobody of changes; undefined where that cannot be told. */
  fingerprint(family: IPFamily): string | undefined
}

/** What iptables said when it refused. */
export class IptablesError extends Error {
  override readonly name = 'IptablesError'
}

export interface CommandPlace {
  readonly linux: Linux
  readonly namespace?: NetworkNamespace
}

const LOCK_SECONDS = '5'
const DEFAULT_PATH = '/usr/sbin:/usr/bin:/sbin:/bin'
const LONGEST_ERROR = 2000

export function machineIptables(place: CommandPlace, variant: IptablesVariant): IptablesCommands {
  const program = (family: IPFamily, command = '') => {
    const parts = [family === 'IPv4' ? 'iptables' : 'ip6tables', variant, command]
    return parts.filter((part) => part !== '').join('-')
  }
  return {
    unsupported() {
      if (!place.linux.isKernel) return 'iptables knows the kernel only'
      const missing = [program('IPv4', 'restore'), program('IPv4', 'save')].find((name) => !isOnPath(name))
      if (missing !== undefined) return `${missing} is not on the PATH`
      return process.getuid?.() === 0 ? undefined : 'iptables needs root'
    },
    async restore(family, text) {
      if (text === '') return
      const args = ['--wait', LOCK_SECONDS, '--noflush', '--counters']
      await run(place, program(family, 'restore'), args, text)
    },
    save: (family) => run(place, program(family, 'save'), []),
    async hasChain(family, table, chain) {
      try {
        await run(place, program(family), ['--wait', LOCK_SECONDS, '-t', table, '-S', chain])
        return true
      } catch (error) {
        if (error instanceof IptablesError) return false
        throw error
      }
    },
    fingerprint: (family) => legacyFingerprint(place, family),
  }
}

function isOnPath(name: string): boolean {
  return (process.env.PATH ?? DEFAULT_PATH).split(path.delimiter).some((directory) => {
    try {
      accessSync(path.join(directory, name), constants.X_OK)
      return true
    } catch {
      return false
    }
  })
}

function run({ linux, namespace }: CommandPlace, program: string, args: string[], input = ''): Promise<string> {
  const start = () => spawn(program, args, { stdio: ['pipe', 'pipe', 'pipe'] })
  // A process is in the network namespace of the thread that starts it.
  const child = namespace ? linux.namespaces.inNamespace(namespace, start) : start()
  child.stdin!.on('error', () => {})
  child.stdin!.end(input)
  return outputOf(child, program)
}

function outputOf(child: ChildProcess, program: string): Promise<string> {
  const output: Buffer[] = []
  let complaint = ''
  child.stdout!.on('data', (bytes: Buffer) => output.push(bytes))
  child.stderr!.on('data', (bytes: Buffer) => {
    complaint = (complaint + bytes.toString('utf8')).slice(-LONGEST_ERROR)
  })
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (code) => {
      if (code === 0) resolve(Buffer.concat(output).toString('utf8'))
      else reject(new IptablesError(`${program} failed (${code}): ${complaint.trim()}`))
    })
  })
}
