import { readFileSync } from 'node:fs'
import type { AgentChannel } from '../../linux/syscall-agent.ts'
import { CAPABILITIES, capabilityMask } from './capabilities.ts'
import type { Identity } from './identity.ts'

const PR_CAPBSET_DROP = 24
const PR_SET_NO_NEW_PRIVS = 38
const SECCOMP_SET_MODE_FILTER = 1
const CAPABILITY_VERSION_3 = 0x20080522
const KEYCTL_JOIN_SESSION_KEYRING = 1

export interface Credentials {
  readonly identity: Identity
  readonly capabilities: readonly string[]
  readonly noNewPrivileges: boolean
  readonly seccomp: Buffer | undefined
  /** In a user namespace of one id other ids and groups cannot be taken. */
  readonly singleId: boolean
}

/** No process can give what it does not have: root on this machine may lack some itself. */
let own: bigint | undefined

function ownCapabilities(): bigint {
  own ??= BigInt(`0x${/^CapPrm:\s*([0-9a-f]+)/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1] ?? '0'}`)
  return own
}

/** The last steps before the program: after them the agent can do no more than the container may. */
export function takeCredentials(agent: AgentChannel, credentials: Credentials): Promise<unknown> {
  const { identity, noNewPrivileges, seccomp } = credentials
  const steps: Promise<unknown>[] = [
    agent.call('keyctl', [KEYCTL_JOIN_SESSION_KEYRING, null], { soft: true }),
    ...dropBoundingSet(agent, credentials.capabilities),
  ]
  if (!credentials.singleId) steps.push(agent.call('setgroups', [identity.groups.length, words(identity.groups)]))
  // Without no_new_privs a filter needs CAP_SYS_ADMIN, so it comes before that goes.
  if (seccomp && !noNewPrivileges) steps.push(installFilter(agent, seccomp))
  if (!credentials.singleId) {
    const { uid, gid } = identity
    steps.push(agent.call('setresgid', [gid, gid, gid]), agent.call('setresuid', [uid, uid, uid]))
  }
  steps.push(
    setCapabilities(agent, identity.uid === 0 ? capabilityMask(credentials.capabilities) & ownCapabilities() : 0n),
  )
  if (noNewPrivileges) steps.push(agent.call('prctl', [PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0]))
  if (seccomp && noNewPrivileges) steps.push(installFilter(agent, seccomp))
  return Promise.all(steps)
}

let lastCapability: number | undefined

function dropBoundingSet(agent: AgentChannel, keep: readonly string[]): Promise<number>[] {
  lastCapability ??= Number(readFileSync('/proc/sys/kernel/cap_last_cap', 'utf8'))
  const steps: Promise<number>[] = []
  for (let number = 0; number <= lastCapability; number++) {
    const name = CAPABILITIES[number]
    if (name === undefined || !keep.includes(name)) steps.push(agent.call('prctl', [PR_CAPBSET_DROP, number, 0, 0, 0]))
  }
  return steps
}

function setCapabilities(agent: AgentChannel, mask: bigint): Promise<number> {
  const header = Buffer.alloc(8)
  header.writeUInt32LE(CAPABILITY_VERSION_3, 0)
  const data = Buffer.alloc(24)
  const low = Number(mask & 0xffffffffn)
  const high = Number(mask >> 32n)
  // Effective and permitted; nothing is inheritable (CVE-2022-24769).
  for (const [at, word] of [low, low, 0, high, high, 0].entries()) data.writeUInt32LE(word, 4 * at)
  return agent.call('capset', [header, data])
}

function installFilter(agent: AgentChannel, filter: Buffer): Promise<number> {
  const struct = Buffer.alloc(16)
  struct.writeUInt16LE(filter.length / 8, 0)
  return agent.call('seccomp', [SECCOMP_SET_MODE_FILTER, 0, { struct, pointers: [{ at: 8, to: filter }] }])
}

function words(numbers: readonly number[]): Buffer {
  const bytes = Buffer.alloc(Math.max(4, 4 * numbers.length))
  for (const [i, number] of numbers.entries()) bytes.writeUInt32LE(number, 4 * i)
  return bytes
}
