import type { RunningServer } from '../instance.ts'

/** The pipe on which a detached server tells `sampan up` how its start went. */
export const READY_FD = 3

export type StartReport =
  | { readonly ready: RunningServer }
  | { readonly error: { readonly message: string; readonly hints: readonly string[] } }
