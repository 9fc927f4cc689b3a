/** Filters of system calls: a profile (the runtime's default, or a user's JSON) compiled to the kernel's BPF. */
import { compileFilter } from './seccomp/compiler.ts'
import { defaultProfile } from './seccomp/default-profile.ts'
import { parseProfile } from './seccomp/profile-json.ts'
import { type Architecture, ownArchitecture } from './syscall-numbers.ts'

export type SeccompAction =
  | { readonly do: 'allow' | 'log' | 'trap' | 'kill-process' | 'kill-thread' }
  | { readonly do: 'errno' | 'trace'; readonly value: number }

export type SeccompOperator = 'eq' | 'ne' | 'lt' | 'le' | 'gt' | 'ge' | 'masked-eq'

/** `masked-eq`: the argument and `value` (a mask) give `valueTwo`. */
export interface SeccompCondition {
  readonly index: number
  readonly op: SeccompOperator
  readonly value: bigint
  readonly valueTwo: bigint
}

/** All conditions must hold. The first rule of a call that matches decides. */
export interface SeccompRule {
  readonly names: readonly string[]
  readonly action: SeccompAction
  readonly conditions: readonly SeccompCondition[]
}

export interface SeccompProfile {
  readonly defaultAction: SeccompAction
  readonly rules: readonly SeccompRule[]
}

/** The default filter for a container with these capabilities (without `CAP_`). */
export function defaultSeccompFilter(capabilities: readonly string[], architecture?: Architecture): Buffer {
  const target = architecture ?? ownArchitecture()
  return compileFilter(defaultProfile(new Set(capabilities), target), target)
}

/** A profile as Docker, containerd and CRI-O read it. Throws an Error that says what is wrong with it. */
export function seccompFilterOf(
  json: string,
  capabilities: readonly string[],
  architecture: Architecture = ownArchitecture(),
): Buffer {
  return compileFilter(parseProfile(json, new Set(capabilities), architecture), architecture)
}
