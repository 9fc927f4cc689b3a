import { watch } from 'node:fs'
import { open } from 'node:fs/promises'
import { Command } from 'commander'
import { instanceOf, logPath } from '../../cluster/instance.ts'
import { UserError } from '../../cluster/user-error.ts'

export function logsCommand(): Command {
  return new Command('logs')
    .description("Print the log of a cluster's server.")
    .option('-f, --follow', 'go on as new lines come')
    .option('--name <name>', 'which cluster (default: default)')
    .option('--data-dir <dir>', 'where its state lives, if it was started with one')
    .action(logs)
}

async function logs(options: { follow?: boolean; name?: string; dataDir?: string }): Promise<void> {
  const path = logPath(instanceOf(options))
  const file = await open(path, 'r').catch(() => {
    throw new UserError(`there is no log at ${path}`, ['Start the cluster: sampan up --detach'])
  })
  const buffer = Buffer.alloc(1 << 16)
  let position = 0
  const printNew = async () => {
    // A shorter file is a new one under the same name.
    if ((await file.stat()).size < position) position = 0
    for (;;) {
      const { bytesRead } = await file.read(buffer, 0, buffer.length, position)
      if (bytesRead === 0) return
      position += bytesRead
      process.stdout.write(Buffer.from(buffer.subarray(0, bytesRead)))
    }
  }
  await printNew()
  if (!options.follow) return file.close()
  let printing = Promise.resolve()
  watch(path, () => {
    printing = printing.then(printNew)
  })
  await new Promise(() => {})
}
