/**
 * The contract of a row: one attempt of a hostile pod or image to get out. Whatever kind it is, it ends as text with lines
 * "ESCAPED what" or "held why". A row fails on a line of the first kind, on a secret of the canaries anywhere in the
 * text, and when it has no line at all: then the attempt was not made.
 */
import type { Container, PodSpec, Volume } from '../../src/api/generated/core-v1.ts'
import type { ImageLayer } from '../tools/build-image.ts'
import type { Goal } from './canaries.ts'
import type { CellName } from './cells.ts'
import type { Environment, EnvironmentName } from './environments.ts'

interface Row {
  /** A sentence: what is tried and does not work. */
  readonly name: string
  /** A CVE, or where the idea comes from. */
  readonly idea: string
  /** All environments without it. */
  readonly on?: readonly EnvironmentName[]
}

/** A script in a container that it shares with other rows; see cells.ts. */
export interface ScriptAttempt extends Row {
  readonly script: string
  /** `default` without it. */
  readonly cell?: CellName
  /** It succeeds in a privileged pod. There the suite proves that the script would tell of an escape. */
  readonly worksPrivileged?: true
}

/** A container of its own, in a pod that it shares with other rows. */
export interface ContainerAttempt extends Row {
  /** Where it says nothing: the image below or the base image, and a command that says "held". */
  container(goal: Goal): Partial<Container>
  /** By the names that the container's volumeMounts use. A volume that is an image is the row's own image. */
  readonly volumes?: Readonly<Record<string, Omit<Volume, 'name'>>>
  /** A script that runs before in another container. It finds each volume at $V-NAME. */
  readonly prepare?: string
  readonly image?: (goal: Goal) => HostileImage
  /** Further fields of the pod, which it then has for itself. */
  readonly spec?: Partial<PodSpec>
  /** What has to become of the container: `ran`, `refused`, or either without it. `anyhow` if it says nothing itself. */
  readonly ends?: 'ran' | 'refused' | 'anyhow'
}

/** An object that the API server must refuse. */
export interface RefusedAttempt extends Row {
  readonly object: (goal: Goal) => object
  /** What the refusal says. */
  readonly refusal: RegExp
}

/** Steps of its own. Gives the text. */
export interface DrivenAttempt extends Row {
  drive(environment: Environment): Promise<string>
}

export type Attempt = ScriptAttempt | ContainerAttempt | RefusedAttempt | DrivenAttempt

export interface HostileImage {
  /** On top of the base image, the lowest first. */
  readonly layers?: readonly ImageLayer[]
  readonly config?: Readonly<Record<string, unknown>>
  /** Its layers are such that `sampan image load` may refuse it. */
  readonly isMalformed?: boolean
}

export const isScript = (row: Attempt): row is ScriptAttempt => 'script' in row
export const isContainer = (row: Attempt): row is ContainerAttempt => 'container' in row
export const isRefused = (row: Attempt): row is RefusedAttempt => 'refusal' in row
export const isDriven = (row: Attempt): row is DrivenAttempt => 'drive' in row

/** containerd starts containers slowly, and much of what they pass is the same code: it gets every nth of such rows. */
export const thinned = <T extends Attempt>(every: number, rows: readonly T[]): T[] =>
  rows.map((row, i) => (i % every === 0 || row.on ? row : { ...row, on: ['builtin', 'rootless'] }))

/** Lines that tell of an escape, and secrets; also a text without any verdict. */
export function escapesIn(text: string, secrets: readonly string[]): string[] {
  const told = text.split('\n').filter((line) => line.includes('ESCAPED'))
  const leaked = secrets.filter((secret) => text.includes(secret)).map((secret) => `the secret ${secret.slice(0, 12)}…`)
  const silent = /^held|ESCAPED/m.test(text) ? [] : [`the attempt was not made: ${JSON.stringify(text.slice(-2000))}`]
  return [...told, ...leaked, ...silent]
}
