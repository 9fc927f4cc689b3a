/** How one setting of a cluster is declared. The declarations themselves are in configuration.ts. */
import { resolve } from 'node:path'

export type SettingCommand = 'up' | 'join'

/**
 * Who uses a setting. Those of `control-plane` are options of `startCluster()`, those of `node` reach every node's process,
 * both unchanged. Those of `command` are translated by the command that has the flag.
 */
export type SettingScope = 'control-plane' | 'node' | 'command'

/** The flag of a command for a setting. */
export interface SettingFlag {
  readonly help: string
  /** Where the command allows fewer choices than the setting has. */
  readonly choices?: readonly string[]
}

export interface Setting<T, S extends SettingScope = SettingScope> {
  readonly scope: S
  /** By command; a command that is not here has no such flag. */
  readonly flags: Readonly<Partial<Record<SettingCommand, SettingFlag>>>
  /** The word for the value in the help text; none for a flag that is given or not. */
  readonly argument: string | undefined
  readonly choices?: readonly string[]
  readonly default?: T
  /** Reads the text of a flag. Throws a sentence for the user. */
  parse(text: string): T
  /** What is wrong with a value, in a sentence; undefined if it is good. */
  problemWith(value: unknown): string | undefined
}

interface Declaration<T, S extends SettingScope> {
  readonly scope: S
  readonly up?: string
  readonly join?: string | SettingFlag
  readonly default?: T
}

function declare<T, S extends SettingScope>(
  { scope, up, join, ...rest }: Declaration<T, S>,
  kind: Pick<Setting<T>, 'argument' | 'choices' | 'parse' | 'problemWith'>,
): Setting<T, S> {
  const flags = {
    ...(up !== undefined && { up: { help: up + defaultText(rest.default) } }),
    ...(join !== undefined && { join: typeof join === 'string' ? { help: join } : join }),
  }
  return { scope, flags, ...('default' in rest && { default: rest.default }), ...kind }
}

/** For `up`; a node that joins takes its defaults from the cluster. */
const defaultText = (value: unknown) =>
  typeof value === 'string' || typeof value === 'number' ? ` (default: ${value})` : ''

/** A text; `check` throws a sentence if it is wrong. */
export const text = <S extends SettingScope>(
  argument: string,
  declaration: Declaration<string, S>,
  check: (text: string) => void = () => {},
): Setting<string, S> =>
  declare(declaration, {
    argument,
    parse: (value) => {
      check(value)
      return value
    },
    problemWith: (value) => (typeof value === 'string' ? problemOf(() => check(value)) : 'must be a string'),
  })

/** The path of a file, which a flag may name relative to the working directory. `except` is no path. */
export const file = <S extends SettingScope>(
  declaration: Declaration<string, S>,
  except?: string,
): Setting<string, S> => ({
  ...text('file', declaration),
  parse: (value) => (value === except ? value : resolve(value)),
})

export const choice = <const T extends string, S extends SettingScope>(
  argument: string,
  choices: readonly T[],
  declaration: Declaration<T, S>,
): Setting<T, S> => {
  const problem = `must be one of ${choices.join(', ')}`
  const isChoice = (value: unknown): value is T => (choices as readonly unknown[]).includes(value)
  return declare(declaration, {
    argument,
    choices,
    parse: (value) => {
      if (isChoice(value)) return value
      throw new Error(problem)
    },
    problemWith: (value) => (isChoice(value) ? undefined : problem),
  })
}

/** A whole number from 0 to `most`, or `none` where that says "no limit"; 0 is not a limit then. */
export const wholeNumber = <S extends SettingScope>(
  argument: string,
  most: number,
  declaration: Declaration<number, S>,
  none?: number,
): Setting<number, S> => {
  const least = none === undefined ? 0 : 1
  const problem = `must be a whole number from ${least} to ${most}${none === undefined ? '' : `, or ${none}`}`
  const isGood = (value: unknown): value is number =>
    value === none || (Number.isInteger(value) && Number(value) >= least && Number(value) <= most)
  return declare(declaration, {
    argument,
    parse: (value) => {
      if (/^-?\d+$/.test(value) && isGood(Number(value))) return Number(value)
      throw new Error(problem)
    },
    problemWith: (value) => (isGood(value) ? undefined : problem),
  })
}

/** A flag that is given or not; `--flag false` turns off what an earlier start turned on. */
export const toggle = <S extends SettingScope>(declaration: Declaration<boolean, S>): Setting<boolean, S> =>
  declare(declaration, {
    argument: undefined,
    parse: (value) => {
      if (value === 'true' || value === 'false') return value === 'true'
      throw new Error('must be true or false')
    },
    problemWith: (value) => (typeof value === 'boolean' ? undefined : 'must be true or false'),
  })

/** Several texts; `parse` reads them from one flag and throws a sentence if one is wrong. */
export const list = <T extends string, S extends SettingScope>(
  argument: string,
  declaration: Declaration<readonly T[], S>,
  parse: (text: string) => readonly T[],
  problemWithItem: (item: string) => string | undefined,
): Setting<readonly T[], S> =>
  declare(declaration, {
    argument,
    parse,
    problemWith: (value) => {
      if (!Array.isArray(value) || !value.every((item) => typeof item === 'string')) return 'must be a list of strings'
      return value.map((item) => problemWithItem(item)).find((problem) => problem !== undefined)
    },
  })

function problemOf(check: () => void): string | undefined {
  try {
    check()
    return undefined
  } catch (error) {
    return (error as Error).message
  }
}
