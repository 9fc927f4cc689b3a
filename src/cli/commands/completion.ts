import { Argument, Command } from 'commander'
import { say } from '../printing/say.ts'

const SHELLS = ['bash', 'zsh', 'fish'] as const
type Shell = (typeof SHELLS)[number]

interface Completed {
  readonly name: string
  readonly description: string
  readonly options: readonly { readonly name: string; readonly description: string }[]
}

export function completionCommand(program: Command): Command {
  return new Command('completion')
    .description('Print a script that completes commands and options in your shell.')
    .addArgument(new Argument('<shell>').choices(SHELLS))
    .addHelpText(
      'after',
      `
Examples:
  $ source <(sampan completion bash)
  $ sampan completion zsh > "\${fpath[1]}/_sampan"
  $ sampan completion fish > ~/.config/fish/completions/sampan.fish`,
    )
    .action((shell: Shell) => say(completionScript(shell, commandsOf(program))))
}

function commandsOf(program: Command): Completed[] {
  return program.commands.map((command) => ({
    name: command.name(),
    description: command.description(),
    options: command.options.map((option) => ({
      name: option.long ?? option.short ?? '',
      description: option.description,
    })),
  }))
}

/** The script follows from the commands themselves, so the two cannot differ. */
export function completionScript(shell: Shell, commands: readonly Completed[]): string {
  return { bash, zsh, fish }[shell](commands)
}

function bash(commands: readonly Completed[]): string {
  const cases = commands.map(({ name, options }) => `    ${name}) words="${options.map((o) => o.name).join(' ')}" ;;`)
  return `_sampan() {
  local current="\${COMP_WORDS[COMP_CWORD]}" words
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W "${commands.map((command) => command.name).join(' ')}" -- "$current"))
    return
  fi
  case "\${COMP_WORDS[1]}" in
${cases.join('\n')}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o default -F _sampan sampan`
}

function zsh(commands: readonly Completed[]): string {
  const quoted = (text: string) => text.replaceAll("'", "'\\''").replaceAll(':', '\\:')
  const plain = (text: string) => quoted(text).replaceAll('[', '\\[').replaceAll(']', '\\]')
  const names = commands.map(({ name, description }) => `    '${name}:${quoted(description)}'`)
  const cases = commands.map(({ name, options }) => {
    const list = options.map((option) => `'${option.name}[${plain(option.description)}]'`).join(' ')
    return `    ${name}) _arguments ${list} '*:file:_files' ;;`
  })
  return `#compdef sampan
_sampan() {
  local -a commands=(
${names.join('\n')}
  )
  if (( CURRENT == 2 )); then _describe command commands; return; fi
  case "$words[2]" in
${cases.join('\n')}
  esac
}
if [ "$funcstack[1]" = _sampan ]; then _sampan "$@"; else compdef _sampan sampan; fi`
}

function fish(commands: readonly Completed[]): string {
  const quoted = (text: string) => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`
  const lines = commands.flatMap(({ name, description, options }) => [
    `complete -c sampan -n __fish_use_subcommand -f -a ${name} -d ${quoted(description)}`,
    ...options.map(
      (option) =>
        `complete -c sampan -n '__fish_seen_subcommand_from ${name}' -l ${option.name.replace(/^--/, '')} -d ${quoted(option.description)}`,
    ),
  ])
  return lines.join('\n')
}
