import { Command, Option } from 'commander'
import type { KubernetesObject } from '../../api/meta/object.ts'
import { resourcePath } from '../../client/resource-path.ts'
import { note, say } from '../printing/say.ts'
import { formatTable, type Table, type TableStyle } from '../printing/table.ts'
import { type ApiAccess, type ConnectOptions, connectOptions, withApi } from '../resources/connect.ts'
import { type DiscoveredResource, discover } from '../resources/discovery.ts'
import { parseTargets, qualifiedName, type Target } from '../resources/targets.ts'

interface GetOptions extends ConnectOptions {
  output?: 'yaml' | 'json' | 'name' | 'wide'
  allNamespaces?: boolean
  selector?: string
  fieldSelector?: string
  watch?: boolean
  headers: boolean
}

const TABLE = 'application/json;as=Table;v=v1;g=meta.k8s.io,application/json'

export function getCommand(): Command {
  return connectOptions(
    new Command('get')
      .description('List objects, or show some.')
      .argument('<what...>', 'pods, pod/web, deploy,svc, all, ...'),
  )
    .addOption(new Option('-o, --output <format>', 'how to print').choices(['yaml', 'json', 'name', 'wide']))
    .option('-A, --all-namespaces', 'of every namespace')
    .option('-l, --selector <labels>', 'only objects with these labels')
    .option('--field-selector <fields>', 'only objects with these fields')
    .option('-w, --watch', 'go on as they change')
    .option('--no-headers', 'leave out the headings')
    .addHelpText(
      'after',
      `
Examples:
  $ sampan get namespaces
  $ sampan get configmaps,secrets -n kube-system
  $ sampan get deploy/web -o yaml
  $ sampan get pods -A -l app=web -w`,
    )
    .action((words: string[], options: GetOptions) => withApi(options, (api) => get(api, words, options)))
}

async function get(api: ApiAccess, words: readonly string[], options: GetOptions): Promise<void> {
  const targets = parseTargets(await discover(api.http), words)
  if (options.output === 'yaml' || options.output === 'json') return printObjects(api, targets, options)
  const several = targets.length > 1
  let printed = 0
  for (const target of targets) {
    const paths = pathsOf(api, target, options)
    const tables = await Promise.all(
      paths.map(async (path) => JSON.parse(await api.http.raw({ path, accept: TABLE })) as Table),
    )
    const table = { ...tables[0], rows: tables.flatMap((one) => one.rows ?? []) }
    if (options.watch) return watchTable(api, target, table, options)
    if (table.rows.length === 0) continue
    if (several && printed > 0 && options.output !== 'name') say()
    printed += table.rows.length
    printTable(target, table, options, several)
  }
  if (printed === 0 && options.output !== 'name') note(nothing(api, targets, options))
}

function printTable(target: Target, table: Table, options: GetOptions, several: boolean): void {
  if (options.output === 'name') {
    for (const row of table.rows ?? []) say(qualifiedName(target.resource, row.object?.metadata?.name ?? ''))
    return
  }
  for (const line of formatTable(table, styleOf(target.resource, options, several))) say(line)
}

function styleOf(resource: DiscoveredResource, options: GetOptions, several: boolean): TableStyle {
  return {
    wide: options.output === 'wide',
    withNamespace: Boolean(options.allNamespaces) && resource.namespaced,
    headers: options.headers,
    ...(several && { namePrefix: qualifiedName(resource, '') }),
  }
}

/** The list, or one path for each name. */
function pathsOf(api: ApiAccess, { resource, names }: Target, options: GetOptions): string[] {
  const namespace = options.allNamespaces ? {} : { namespace: api.namespace }
  if (names.length > 0) return names.map((name) => resourcePath({ resource, ...namespace, name }))
  return [resourcePath({ resource, ...namespace, query: selectorsOf(options) })]
}

function selectorsOf(options: GetOptions): Record<string, string> {
  return {
    ...(options.selector !== undefined && { labelSelector: options.selector }),
    ...(options.fieldSelector !== undefined && { fieldSelector: options.fieldSelector }),
  }
}

async function printObjects(api: ApiAccess, targets: readonly Target[], options: GetOptions): Promise<void> {
  const objects: KubernetesObject[] = []
  let single = targets.length === 1
  for (const target of targets) {
    single &&= target.names.length === 1
    for (const path of pathsOf(api, target, options)) {
      const answer = JSON.parse(await api.http.raw({ path })) as KubernetesObject & ListAnswer
      objects.push(...(answer.items?.map((item) => withType(answer, item)) ?? [answer]))
    }
  }
  const document = single
    ? objects[0]
    : { apiVersion: 'v1', items: objects, kind: 'List', metadata: { resourceVersion: '' } }
  if (options.output === 'json') return say(JSON.stringify(document, null, 4))
  const { stringify } = await import('yaml')
  // Quoted so that readers of YAML 1.1, such as kubectl, see text as text.
  process.stdout.write(stringify(document, { version: '1.1', lineWidth: 0, indentSeq: false, sortMapEntries: true }))
}

interface ListAnswer {
  readonly items?: readonly KubernetesObject[]
}

/** Items of a list leave out what the list says for all of them. */
function withType(list: KubernetesObject, item: KubernetesObject): KubernetesObject {
  return { apiVersion: list.apiVersion ?? '', kind: (list.kind ?? '').replace(/List$/, ''), ...item }
}

/** Prints the table, then a row for each change. */
async function watchTable(api: ApiAccess, target: Target, table: Table, options: GetOptions): Promise<void> {
  const { resource, names } = target
  let definitions = table.columnDefinitions
  let headers = options.headers
  if ((table.rows ?? []).length > 0) {
    printTable(target, table, options, false)
    headers = false
  }
  const query = {
    ...selectorsOf(options),
    ...(names[0] !== undefined && { fieldSelector: `metadata.name=${names[0]}` }),
    watch: 'true',
    resourceVersion: table.metadata?.resourceVersion ?? '',
  }
  const path = resourcePath({ resource, ...(!options.allNamespaces && { namespace: api.namespace }), query })
  const stop = new AbortController()
  process.once('SIGINT', () => stop.abort())
  for await (const lines of api.http.rawLines({ path, accept: TABLE, signal: stop.signal })) {
    for (const line of lines) {
      const { object } = JSON.parse(line) as { object: Table }
      // Only the first event of a watch names its columns.
      if (object.columnDefinitions?.length) definitions = object.columnDefinitions
      const row = { ...object, ...(definitions && { columnDefinitions: definitions }) }
      printTable(target, row, { ...options, headers }, false)
      headers = false
    }
  }
}

function nothing(api: ApiAccess, targets: readonly Target[], options: GetOptions): string {
  const namespaced = targets.every(({ resource }) => resource.namespaced) && !options.allNamespaces
  return namespaced ? `No resources found in ${api.namespace} namespace.` : 'No resources found'
}
