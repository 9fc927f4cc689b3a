import { Command, CommanderError } from 'commander'
import { ApiError } from '../api/meta/api-error.ts'
import { SAMPAN_VERSION } from '../api/version.ts'
import { UserError } from '../cluster/user-error.ts'
import { applyCommand } from './commands/apply.ts'
import { completionCommand } from './commands/completion.ts'
import { deleteCommand } from './commands/delete.ts'
import { describeCommand } from './commands/describe.ts'
import { doctorCommand } from './commands/doctor.ts'
import { downCommand } from './commands/down.ts'
import { explainSchedulingCommand } from './commands/explain-scheduling.ts'
import { getCommand } from './commands/get.ts'
import { imageCommand } from './commands/image.ts'
import { joinCommand } from './commands/join.ts'
import { logsCommand } from './commands/logs.ts'
import { snapshotCommand } from './commands/snapshot.ts'
import { statusCommand } from './commands/status.ts'
import { tokenCommand } from './commands/token.ts'
import { upCommand } from './commands/up.ts'
import { failure } from './printing/say.ts'

const USAGE_EXIT_CODE = 2

/** The command line. `serverEntry` is the script a detached server runs. */
export async function runCli(argv: readonly string[], serverEntry: string): Promise<void> {
  process.stdout.on('error', endQuietlyWithoutReader)
  try {
    await createProgram(serverEntry).parseAsync([...argv])
  } catch (error) {
    process.exitCode = report(error)
  }
}

export function createProgram(serverEntry: string): Command {
  const program = new Command('sampan')
    .description('A whole Kubernetes in one npm package.')
    .version(SAMPAN_VERSION, '-V, --version', 'print the version')
    .helpCommand('help [command]', 'explain a command')
    .addHelpText('after', EXAMPLES)
  for (const command of [
    upCommand(serverEntry),
    downCommand(),
    tokenCommand(),
    joinCommand(serverEntry),
    statusCommand(),
    doctorCommand(),
    logsCommand(),
    snapshotCommand(),
    imageCommand(),
    getCommand(),
    describeCommand(),
    applyCommand(),
    deleteCommand(),
    explainSchedulingCommand(),
  ]) {
    program.addCommand(command)
  }
  program.addCommand(completionCommand(program))
  return inherit(program)
}

const EXAMPLES = `
Examples:
  $ sampan up --detach         start a cluster in the background
  $ kubectl get namespaces     use it with kubectl: the context "sampan" is set
  $ sampan get namespaces      or without kubectl
  $ sampan down                stop it; its state stays for the next "up"`

/** Every command throws instead of exiting, and answers mistakes alike. */
function inherit(command: Command): Command {
  command.exitOverride().showSuggestionAfterError().showHelpAfterError('(see --help for all options)')
  for (const child of command.commands) inherit(child)
  return command
}

function report(error: unknown): number {
  if (error instanceof CommanderError) {
    // Commander has printed it already; --help and --version come here with code 0.
    return error.exitCode === 0 ? 0 : USAGE_EXIT_CODE
  }
  if (error instanceof UserError) {
    failure(error.message, error.hints)
    return error.exitCode
  }
  if (error instanceof ApiError) {
    failure(error.reason === '' ? error.message : `${error.message} (${error.reason})`)
    return 1
  }
  failure(process.env.SAMPAN_DEBUG ? String((error as Error).stack) : String((error as Error).message ?? error))
  return 1
}

/** `sampan get pods | head` is no error. */
function endQuietlyWithoutReader(error: NodeJS.ErrnoException): void {
  if (error.code === 'EPIPE') process.exit(0)
  throw error
}
