import { Command } from 'commander'
import { ApiError } from '../../api/meta/api-error.ts'
import { type KubernetesObject, parseApiVersion } from '../../api/meta/object.ts'
import { UserError } from '../../cluster/user-error.ts'
import { say } from '../printing/say.ts'
import { type ApiAccess, type ConnectOptions, connectOptions, withApi } from '../resources/connect.ts'
import { type DiscoveredResource, discover, findKind } from '../resources/discovery.ts'
import { readManifests } from '../resources/manifests.ts'
import { qualifiedName } from '../resources/targets.ts'

interface ApplyOptions extends ConnectOptions {
  filename: string[]
  recursive?: boolean
  forceConflicts?: boolean
  dryRun?: boolean
  fieldManager: string
}

export function applyCommand(): Command {
  return connectOptions(
    new Command('apply').description('Create or change objects to be as files say (server-side apply).'),
  )
    .requiredOption('-f, --filename <path...>', 'files, directories, or - for standard input')
    .option('-R, --recursive', 'with the directories inside directories')
    .option('--force-conflicts', 'take over fields that others manage')
    .option('--dry-run', 'have the server check everything and change nothing')
    .option('--field-manager <name>', 'who owns the fields', 'sampan')
    .addHelpText(
      'after',
      `
Examples:
  $ sampan apply -f deployment.yaml
  $ cat *.yaml | sampan apply -f -
  $ sampan apply -f manifests/ --dry-run`,
    )
    .action((options: ApplyOptions) => withApi(options, (api) => apply(api, options)))
}

async function apply(api: ApiAccess, options: ApplyOptions): Promise<void> {
  const objects = await readManifests(options.filename, options.recursive)
  const known = await discover(api.http)
  let failed = 0
  for (const object of objects) {
    const { group, version } = parseApiVersion(object.apiVersion!)
    const resource = findKind(known, group, version, object.kind!)
    const name = qualifiedName(resource, object.metadata.name!)
    try {
      say(`${name} ${await applyOne(api, resource, object, options)}${options.dryRun ? ' (dry run)' : ''}`)
    } catch (error) {
      if (!(error instanceof ApiError) || error.code === 503) throw error
      failed++
      process.stderr.write(`${name}: ${error.message}\n`)
    }
  }
  if (failed > 0) throw new UserError(`${failed} of ${objects.length} objects were refused`)
}

async function applyOne(
  { client, namespace }: ApiAccess,
  resource: DiscoveredResource,
  object: KubernetesObject,
  options: ApplyOptions,
): Promise<'created' | 'configured' | 'unchanged'> {
  const all = client.resource(resource)
  const target = resource.namespaced ? all.namespace(object.metadata.namespace ?? namespace) : all
  const before = await target.get(object.metadata.name!).catch((error: unknown) => {
    if (error instanceof ApiError && error.code === 404) return undefined
    throw error
  })
  const after = await target.apply(object, {
    fieldManager: options.fieldManager,
    ...(options.forceConflicts && { force: true }),
    ...(options.dryRun && { dryRun: 'All' }),
  })
  if (!before) return 'created'
  return before.metadata.resourceVersion === after.metadata.resourceVersion ? 'unchanged' : 'configured'
}
