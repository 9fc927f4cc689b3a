import { mkdir, rename, rm, stat } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { Command } from 'commander'
import { formatTime } from '../../api/meta/time.ts'
import { systemClock } from '../../base/clock.ts'
import { systemRandom } from '../../base/random.ts'
import { CliError } from '../cli-error.ts'
import { askControl, controlSocketPath } from '../instance/control.ts'
import { findServer, type Instance, instanceOf, readSettings } from '../instance/instance.ts'
import { say, shortPath, success } from '../printing/say.ts'

interface SnapshotOptions {
  name?: string
  dataDir?: string
}

export function snapshotCommand(): Command {
  return new Command('snapshot')
    .description('Save the whole state of a cluster to one file, or bring it back.')
    .addCommand(
      options(new Command('save'))
        .description('Save the state; the cluster may run on meanwhile.')
        .argument('<file>', 'the file to write')
        .action(save),
    )
    .addCommand(
      options(new Command('restore'))
        .description('Make a saved state the state of a stopped cluster. What it had is set aside.')
        .argument('<file>', 'a file that "snapshot save" wrote')
        .action(restore),
    )
    .addHelpText(
      'after',
      `
Examples:
  $ sampan snapshot save before.snapshot
  $ sampan down && sampan snapshot restore before.snapshot && sampan up --detach`,
    )
}

const options = (command: Command) =>
  command
    .option('--name <name>', 'which cluster (default: default)')
    .option('--data-dir <dir>', 'where its state lives, if it was started with one')

async function save(file: string, options: SnapshotOptions): Promise<void> {
  const instance = instanceOf(options)
  const target = resolve(file)
  await mkdir(dirname(target), { recursive: true })
  const revision = (await findServer(instance))
    ? await saveRunning(instance, target)
    : await saveStopped(instance, target)
  success(`Saved revision ${revision} to ${shortPath(target)}`)
}

async function saveRunning(instance: Instance, file: string): Promise<number> {
  return (await askControl(controlSocketPath(instance.dataDir), 'snapshot', file)).revision
}

async function saveStopped(instance: Instance, file: string): Promise<number> {
  const { openStore, saveSnapshot, storeDirectory } = await import('../store-access.ts')
  if (!(await isThere(storeDirectory(instance.dataDir))))
    throw new CliError(`cluster ${instance.name} has no state in ${instance.dataDir}`)
  const { dataDir } = instance
  const store = await openStore({ type: 'embedded' }, { dataDir, clock: systemClock, random: systemRandom })
  try {
    return await saveSnapshot(store, file)
  } finally {
    await store[Symbol.asyncDispose]()
  }
}

async function restore(file: string, options: SnapshotOptions): Promise<void> {
  const instance = instanceOf(options)
  if (await findServer(instance)) {
    throw new CliError(`cluster ${instance.name} is running`, ['Stop it first: sampan down'])
  }
  const { store = 'embedded' } = await readSettings(instance)
  if (store !== 'embedded') throw new CliError(`only the embedded store can be restored; this cluster uses ${store}`)
  if (!(await isThere(resolve(file)))) throw new CliError(`there is no file ${file}`)
  const { adoptRanges, openStore, restoreSnapshot, storeDirectory } = await import('../store-access.ts')
  const directory = storeDirectory(instance.dataDir)
  const fresh = `${directory}.restoring`
  await rm(fresh, { recursive: true, force: true })
  await mkdir(instance.dataDir, { recursive: true, mode: 0o700 })
  const revision = await restoreSnapshot(resolve(file), fresh)
  const aside = `${directory}.before-${formatTime(systemClock.now()).replaceAll(':', '')}`
  const hadState = await isThere(directory)
  if (hadState) await rename(directory, aside)
  await rename(fresh, directory)
  const place = { dataDir: instance.dataDir, clock: systemClock, random: systemRandom }
  const restored = await openStore({ type: 'embedded' }, place)
  await adoptRanges(instance.dataDir, restored).finally(() => restored[Symbol.asyncDispose]())
  success(`Restored revision ${revision}; "sampan up" continues from there`)
  if (hadState) say(`  the former state is in ${shortPath(aside)}`)
}

const isThere = (path: string) =>
  stat(path).then(
    () => true,
    () => false,
  )
