/** Reading the arguments of directives, with the line in every complaint. */
import { parseDuration } from '../../base/duration.ts'
import { CorefileError } from './corefile-error.ts'
import type { Directive } from './parse.ts'

export function wholeNumber(directive: Directive, text: string | undefined): number {
  if (text === undefined || !/^\d{1,9}$/.test(text)) {
    throw new CorefileError(directive.line, `'${directive.name}' wants a number, not '${text ?? ''}'`)
  }
  return Number(text)
}

/** Milliseconds. */
export function duration(directive: Directive, text: string | undefined): number {
  const milliseconds = text === undefined ? undefined : parseDuration(text)
  if (milliseconds === undefined) {
    throw new CorefileError(directive.line, `'${directive.name}' wants a duration like 5s, not '${text ?? ''}'`)
  }
  return milliseconds
}

export function noArguments({ name, args, line }: Directive): void {
  if (args.length > 0) throw new CorefileError(line, `'${name}' takes no argument, got '${args[0]}'`)
}

export function noOptions({ name, options }: Directive): void {
  if (options[0]) unknownOption(name, options[0])
}

export function unknownOption(plugin: string, option: Directive): never {
  throw new CorefileError(option.line, `unknown property '${option.name}' of '${plugin}'`)
}

export function oneOf<T extends string>(directive: Directive, text: string | undefined, choices: readonly T[]): T {
  const found = choices.find((choice) => choice === text)
  if (found === undefined) {
    throw new CorefileError(
      directive.line,
      `'${directive.name}' wants one of ${choices.join(', ')}, not '${text ?? ''}'`,
    )
  }
  return found
}

/** `10.0.0.1`, `10.0.0.1:5353`, `:8080`, `[fd00::1]:53`, `fd00::1`. */
export function hostAndPort(
  directive: Directive,
  text: string,
  defaults: { readonly host: string; readonly port: number },
): { readonly host: string; readonly port: number } {
  const bracketed = /^\[([0-9a-fA-F:.]+)\](?::(\d+))?$/.exec(text)
  const plain = bracketed ?? /^([^:]*)(?::(\d+))?$/.exec(text)
  const [host, port] = plain ? [plain[1]!, plain[2]] : [text, undefined]
  const number = port === undefined ? defaults.port : Number(port)
  if (number > 65_535) throw new CorefileError(directive.line, `${number} is not a port`)
  return { host: host === '' ? defaults.host : host, port: number }
}

/** `10.in-addr.arpa`, `10.0.0.0/8` (as a reverse zone), `.`: without the final dot. */
export function zoneOf(directive: { readonly line: number }, text: string): string {
  const cidr = /^(\d+)\.(\d+)\.(\d+)\.(\d+)\/(\d+)$/.exec(text)
  if (!cidr) return (text.endsWith('.') ? text.slice(0, -1) : text).toLowerCase()
  const bits = Number(cidr[5])
  if (bits === 0 || bits > 32 || bits % 8 !== 0) {
    throw new CorefileError(directive.line, `'${text}' is no reverse zone: its length must be 8, 16, 24 or 32`)
  }
  return `${cidr
    .slice(1, 1 + bits / 8)
    .reverse()
    .join('.')}.in-addr.arpa`
}
