import { Command, Option } from 'commander'
import { ApiError } from '../../api/meta/api-error.ts'
import { type KubernetesObject, parseApiVersion } from '../../api/meta/object.ts'
import { systemClock } from '../../base/clock.ts'
import type { ResourceClient } from '../../client/client.ts'
import { UserError } from '../../cluster/user-error.ts'
import { note, progress, say } from '../printing/say.ts'
import { type ApiAccess, type ConnectOptions, connectOptions, withApi } from '../resources/connect.ts'
import { type DiscoveredResource, discover, findKind } from '../resources/discovery.ts'
import { readManifests } from '../resources/manifests.ts'
import { parseTargets, qualifiedName } from '../resources/targets.ts'

interface DeleteOptions extends ConnectOptions {
  filename?: string[]
  selector?: string
  all?: boolean
  ignoreNotFound?: boolean
  gracePeriod?: string
  cascade: 'background' | 'foreground' | 'orphan'
  wait: boolean
}

interface Doomed {
  readonly resource: DiscoveredResource
  readonly name: string
  readonly namespace?: string
}

const POLICIES = { background: 'Background', foreground: 'Foreground', orphan: 'Orphan' } as const
const POLL = 100

export function deleteCommand(): Command {
  return connectOptions(
    new Command('delete')
      .description('Delete objects and wait until they are gone.')
      .argument('[what...]', 'pod web, pod/web, ...'),
  )
    .option('-f, --filename <path...>', 'the objects in files, directories, or - for standard input')
    .option('-l, --selector <labels>', 'all objects with these labels')
    .option('--all', 'all objects of the type in the namespace')
    .option('--ignore-not-found', 'what is gone already is no error')
    .option('--grace-period <seconds>', 'how long an object may take to end')
    .addOption(
      new Option('--cascade <how>', 'what happens to what the object owns')
        .choices(Object.keys(POLICIES))
        .default('background'),
    )
    .option('--no-wait', 'do not wait until they are gone')
    .addHelpText(
      'after',
      `
Examples:
  $ sampan delete configmap settings
  $ sampan delete -f deployment.yaml
  $ sampan delete pods -l app=web`,
    )
    .action((words: string[], options: DeleteOptions) => withApi(options, (api) => remove(api, words, options)))
}

async function remove(api: ApiAccess, words: readonly string[], options: DeleteOptions): Promise<void> {
  const known = await discover(api.http)
  const doomed = options.filename ? await fromFiles(api, known, options) : await fromWords(api, known, words, options)
  if (doomed.length === 0) note('No resources found')
  const grace = options.gracePeriod === undefined ? {} : { gracePeriodSeconds: seconds(options.gracePeriod) }
  for (const one of doomed) {
    const target = clientOf(api, one)
    try {
      await target.delete(one.name, { propagationPolicy: POLICIES[options.cascade], ...grace })
    } catch (error) {
      if (options.ignoreNotFound && error instanceof ApiError && error.code === 404) continue
      throw error
    }
    say(`${qualifiedName(one.resource, one.name)} deleted`)
    if (options.wait) await untilGone(target, one.name)
  }
}

async function fromFiles(
  api: ApiAccess,
  known: readonly DiscoveredResource[],
  options: DeleteOptions,
): Promise<Doomed[]> {
  const objects = await readManifests(options.filename!)
  return objects.map((object) => {
    const { group, version } = parseApiVersion(object.apiVersion!)
    const { name, namespace = api.namespace } = object.metadata
    const resource = findKind(known, group, version, object.kind!)
    return { resource, name: name!, namespace }
  })
}

async function fromWords(
  api: ApiAccess,
  known: readonly DiscoveredResource[],
  words: readonly string[],
  options: DeleteOptions,
): Promise<Doomed[]> {
  const doomed: Doomed[] = []
  for (const { resource, names } of parseTargets(known, words)) {
    const found = names.length > 0 ? names : await namesOf(api, resource, options)
    doomed.push(...found.map((name) => ({ resource, name, namespace: api.namespace })))
  }
  return doomed
}

async function namesOf(api: ApiAccess, resource: DiscoveredResource, options: DeleteOptions): Promise<string[]> {
  if (!options.all && options.selector === undefined) {
    throw new UserError('say which: by name, with -l, or --all', [`sampan delete ${resource.singular} NAME`], {
      exitCode: 2,
    })
  }
  const selector = options.selector === undefined ? {} : { labelSelector: options.selector }
  const { items } = await clientOf(api, { resource, namespace: api.namespace }).list(selector)
  return items.map((item) => item.metadata.name!)
}

function clientOf(
  api: ApiAccess,
  { resource, namespace }: Pick<Doomed, 'resource' | 'namespace'>,
): ResourceClient<KubernetesObject> {
  const all = api.client.resource(resource)
  return resource.namespaced && namespace !== undefined ? all.namespace(namespace) : all
}

async function untilGone(target: ResourceClient<KubernetesObject>, name: string): Promise<void> {
  const waiting = progress(`waiting until ${name} is gone`)
  try {
    for (;;) {
      await target.get(name)
      await systemClock.sleep(POLL)
    }
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== 404) throw error
  } finally {
    waiting.stop()
  }
}

function seconds(text: string): number {
  if (!/^\d+$/.test(text)) throw new UserError('--grace-period is a number of seconds', [], { exitCode: 2 })
  return Number(text)
}
