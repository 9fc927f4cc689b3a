import { Command, Option } from 'commander'
import { type ClusterConfiguration, valueFor } from '../../cluster/configuration.ts'
import {
  findServer,
  type Instance,
  instanceOf,
  type RunningServer,
  readSavedConfiguration,
} from '../../cluster/instance.ts'
import { UserError } from '../../cluster/user-error.ts'
import type { Report, Result, Verdict } from '../../doctor/control.ts'
import { colours, progress, say } from '../printing/say.ts'
import { withApi } from '../resources/connect.ts'

interface DoctorOptions {
  readonly cis?: boolean
  readonly name?: string
  readonly dataDir?: string
  readonly output?: string
}

export function doctorCommand(): Command {
  return new Command('doctor')
    .description('Examine this machine and the cluster on it. Exit code 1 if something that counts is wrong.')
    .option('--cis', 'the controls of the CIS Kubernetes Benchmark 1.12, on the running cluster')
    .option('--name <name>', 'which cluster (default: default)')
    .option('--data-dir <dir>', 'where its state lives, if it was started with one')
    .addOption(new Option('-o, --output <format>', 'json for programs').choices(['json']))
    .addHelpText(
      'after',
      `
Examples:
  $ sampan doctor                can this machine run a cluster, and does it?
  $ sampan doctor --cis          how safe is the cluster?
  $ sampan doctor --cis -o json  the same for programs`,
    )
    .action(doctor)
}

async function doctor(options: DoctorOptions): Promise<void> {
  const waiting = progress('looking around')
  const report = await (options.cis ? examineCluster(options) : examineMachine(options)).finally(() => waiting.stop())
  if (options.output === 'json') say(JSON.stringify(report, null, 2))
  else print(report)
  if (report.counts.fail > 0) process.exitCode = 1
}

async function examineMachine(options: DoctorOptions): Promise<Report> {
  const instance = instanceOf(options)
  const [{ examine }, { machineControls }, { gatherMachineFacts }, server, saved] = await Promise.all([
    import('../../doctor/control.ts'),
    import('../../doctor/machine-controls.ts'),
    import('../../doctor/gather-machine-facts.ts'),
    findServer(instance),
    readSavedConfiguration(instance),
  ])
  const apiPort = server ? Number(new URL(server.url).port) : valueFor(saved, 'apiPort')
  const { hasNftables } = await import('../nftables-present.ts')
  return examine(machineControls, await gatherMachineFacts({ dataDir: instance.dataDir, apiPort, server, hasNftables }))
}

async function examineCluster(options: DoctorOptions): Promise<Report> {
  const instance = instanceOf(options)
  const server = await findServer(instance)
  if (!server || server.joinedAs)
    throw new UserError(`cluster ${instance.name} does not run on this machine`, [
      'Start it: sampan up --detach',
      'Its files and processes are examined too: run this on the machine of its control plane.',
    ])
  const [{ examine }, { cisControls }] = await Promise.all([
    import('../../doctor/control.ts'),
    import('../../doctor/cis-controls.ts'),
  ])
  return examine(cisControls, await factsOf(instance, server, options))
}

async function factsOf(instance: Instance, server: RunningServer, options: DoctorOptions) {
  const [{ gatherCisFacts }, saved] = await Promise.all([
    import('../../doctor/gather-cis-facts.ts'),
    readSavedConfiguration(instance),
  ])
  return withApi(options, ({ http, connection }) =>
    gatherCisFacts({
      dataDir: instance.dataDir,
      pid: server.pid,
      url: server.url,
      store: server.store,
      hasKubelets: (server.nodes ?? 0) > 0 && server.runtime !== 'simulated',
      kubeconfigs: server.kubeconfig === undefined ? [] : [server.kubeconfig],
      files: securityFilesOf(saved),
      etcd: etcdFilesOf(saved),
      api: http,
      credentials: connection,
    }),
  )
}

const securityFilesOf = ({ auditPolicy, auditLog, encryptionConfig }: ClusterConfiguration) => ({
  ...(auditPolicy !== undefined && { auditPolicy }),
  ...(auditLog !== undefined && { auditLog }),
  ...(encryptionConfig !== undefined && { encryption: encryptionConfig }),
})

const etcdFilesOf = ({ etcdCa, etcdCert, etcdKey }: ClusterConfiguration) => ({
  ...(etcdCa !== undefined && { ca: etcdCa }),
  ...(etcdCert !== undefined && { cert: etcdCert }),
  ...(etcdKey !== undefined && { key: etcdKey }),
})

const MARKS: Readonly<Record<Verdict, string>> = {
  pass: colours.green('✓'),
  fail: colours.red('✗'),
  warn: colours.yellow('!'),
  'not applicable': colours.dim('–'),
}

function print({ results, counts }: Report): void {
  const width = Math.max(...results.map(({ id }) => id.length))
  for (const result of results) printResult(result, width)
  say()
  say(
    `${counts.pass} passed, ${counts.fail} failed, ${counts.warn} warnings, ${counts['not applicable']} not applicable`,
  )
}

function printResult({ id, title, verdict, evidence, remedy }: Result, width: number): void {
  const indent = ' '.repeat(width + 3)
  say(`${MARKS[verdict]} ${colours.bold(id.padEnd(width))} ${title}`)
  say(`${indent}${colours.dim(evidence)}`)
  if (remedy !== undefined) say(`${indent}→ ${remedy}`)
}
