import { resolve } from 'node:path'
import { Command } from 'commander'
import { restoreClusterSnapshot, saveClusterSnapshot } from '../../cluster/cluster-snapshot.ts'
import { instanceOf } from '../../cluster/instance.ts'
import { addClusterFlags, type ClusterFlags } from '../cluster-flags.ts'
import { say, shortPath, success } from '../printing/say.ts'

const EXAMPLES = `
Examples:
  $ sampan snapshot save before.snapshot
  $ sampan down && sampan snapshot restore before.snapshot && sampan up --detach`

export function snapshotCommand(): Command {
  return new Command('snapshot')
    .description('Save the whole state of a cluster to one file, or bring it back.')
    .addCommand(
      addClusterFlags(new Command('save'))
        .description('Save the state; the cluster may run on meanwhile.')
        .argument('<file>', 'the file to write')
        .action(save),
    )
    .addCommand(
      addClusterFlags(new Command('restore'))
        .description('Make a saved state the state of a stopped cluster. Its former state is set aside.')
        .argument('<file>', 'a file that "snapshot save" wrote')
        .action(restore),
    )
    .addHelpText('after', EXAMPLES)
}

async function save(file: string, flags: ClusterFlags): Promise<void> {
  const target = resolve(file)
  const revision = await saveClusterSnapshot(instanceOf(flags), target)
  success(`Saved revision ${revision} to ${shortPath(target)}`)
}

async function restore(file: string, flags: ClusterFlags): Promise<void> {
  const { revision, formerState } = await restoreClusterSnapshot(instanceOf(flags), resolve(file))
  success(`Restored revision ${revision}; "sampan up" continues from there`)
  if (formerState) say(`  the former state is in ${shortPath(formerState)}`)
}
