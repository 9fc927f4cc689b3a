import { Command } from 'commander'
import type { KubernetesObject } from '../../api/meta/object.ts'
import { age } from '../../api/meta/time.ts'
import { systemClock } from '../../base/clock.ts'
import { describeObject } from '../printing/describe-object.ts'
import { say } from '../printing/say.ts'
import { formatRows } from '../printing/table.ts'
import { type ApiAccess, type ConnectOptions, connectOptions, withApi } from '../resources/connect.ts'
import { discover } from '../resources/discovery.ts'
import { parseTargets } from '../resources/targets.ts'

interface DescribeOptions extends ConnectOptions {
  selector?: string
}

interface EventObject extends KubernetesObject {
  readonly type?: string
  readonly reason?: string
  readonly message?: string
  readonly count?: number
  readonly lastTimestamp?: string
  readonly eventTime?: string
  readonly source?: { readonly component?: string }
  readonly reportingComponent?: string
}

const EVENTS = { group: '', version: 'v1', plural: 'events', namespaced: true }

export function describeCommand(): Command {
  return connectOptions(
    new Command('describe')
      .description('Show an object in full, with its events.')
      .argument('<what...>', 'pod web, pod/web, ...'),
  )
    .option('-l, --selector <labels>', 'only objects with these labels')
    .addHelpText('after', '\nExamples:\n  $ sampan describe namespace default\n  $ sampan describe svc/kubernetes')
    .action((words: string[], options: DescribeOptions) => withApi(options, (api) => describe(api, words, options)))
}

async function describe(api: ApiAccess, words: readonly string[], options: DescribeOptions): Promise<void> {
  let first = true
  for (const { resource, names } of parseTargets(await discover(api.http), words)) {
    const all = api.client.resource(resource)
    const target = resource.namespaced ? all.namespace(api.namespace) : all
    const selector = options.selector === undefined ? {} : { labelSelector: options.selector }
    const objects =
      names.length > 0 ? await Promise.all(names.map((name) => target.get(name))) : (await target.list(selector)).items
    for (const object of objects) {
      if (!first) say('\n')
      first = false
      for (const line of describeObject(object)) say(line)
      for (const line of await eventLines(api, object)) say(line)
    }
  }
}

async function eventLines(api: ApiAccess, object: KubernetesObject): Promise<string[]> {
  const { uid, namespace } = object.metadata
  const events = api.client.resource<EventObject>(EVENTS).namespace(namespace ?? 'default')
  const { items } = await events.list({ fieldSelector: `involvedObject.uid=${uid}` })
  if (items.length === 0) return ['Events:  <none>']
  const now = systemClock.now()
  const rows = items.map((event) => [
    event.type ?? '',
    event.reason ?? '',
    `${age(event.lastTimestamp ?? event.eventTime, now)}${event.count && event.count > 1 ? ` (x${event.count})` : ''}`,
    event.source?.component || event.reportingComponent || '',
    (event.message ?? '').trim(),
  ])
  return ['Events:', ...formatRows([['TYPE', 'REASON', 'AGE', 'FROM', 'MESSAGE'], ...rows]).map((line) => `  ${line}`)]
}
