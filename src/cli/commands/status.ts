import { Command } from 'commander'
import { humanDuration } from '../../api/meta/time.ts'
import { askControl, controlSocketPath } from '../instance/control.ts'
import { adminKubeconfigPath, findServer, instanceOf } from '../instance/instance.ts'
import { facts, say, shortPath, success } from '../printing/say.ts'

/** As `systemctl status` answers for what does not run. */
const NOT_RUNNING = 3

export function statusCommand(): Command {
  return new Command('status')
    .description(`Tell whether a cluster runs, and where. Exit code ${NOT_RUNNING} if it does not.`)
    .option('--name <name>', 'which cluster (default: default)')
    .option('--data-dir <dir>', 'where its state lives, if it was started with one')
    .option('-o, --output <format>', 'json for programs')
    .action(status)
}

async function status(options: { name?: string; dataDir?: string; output?: string }): Promise<void> {
  const instance = instanceOf(options)
  const server = await findServer(instance)
  const health = server && (await askControl(controlSocketPath(instance.dataDir), 'status').catch(() => undefined))
  if (!server) process.exitCode = NOT_RUNNING
  if (options.output === 'json') {
    say(
      JSON.stringify({
        name: instance.name,
        dataDir: instance.dataDir,
        running: Boolean(server),
        ...server,
        ...health,
      }),
    )
    return
  }
  if (!server) {
    say(`Cluster ${instance.name} is not running. Start it: sampan up --detach`)
    return
  }
  if (server.joinedAs) {
    success(`Node ${server.joinedAs} of ${server.url} is running`)
    facts([
      ['Process', String(server.pid)],
      ['Data', shortPath(instance.dataDir)],
    ])
    return
  }
  success(`Cluster ${instance.name} is running`)
  facts([
    ['API server', server.url],
    [
      'Process',
      health
        ? `${server.pid}, up ${humanDuration(health.uptimeSeconds * 1000)}, ${megabytes(health.residentBytes)}`
        : `${server.pid}, does not answer`,
    ],
    ['Store', `${server.store}${health ? `, at revision ${health.revision}` : ''}`],
    ['Data', shortPath(instance.dataDir)],
    ['Kubeconfig', shortPath(adminKubeconfigPath(instance))],
  ])
}

const megabytes = (bytes: number) => `${Math.round(bytes / 1e6)} MB`
