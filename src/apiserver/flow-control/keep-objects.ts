import type { FlowSchema, PriorityLevelConfiguration } from '../../api/generated/flowcontrol-v1.ts'
import { ApiError } from '../../api/meta/api-error.ts'
import type { KubernetesObject } from '../../api/meta/object.ts'
import { formatTime } from '../../api/meta/time.ts'
import type { Clock } from '../../base/clock.ts'
import { deepEqual } from '../../base/deep-equal.ts'
import type { Logger } from '../../base/log.ts'
import type { ResourceType, Transport } from '../../client/transport.ts'
import { copyObject } from '../watch-cache/copy-object.ts'
import { type FollowContext, follow } from '../watch-cache/follow.ts'
import { bootstrapLevels, bootstrapSchemas } from './bootstrap-objects.ts'
import type { FlowControl } from './flow-control.ts'

const GROUP = 'flowcontrol.apiserver.k8s.io'
const type = (plural: string): ResourceType => ({ group: GROUP, version: 'v1', plural, namespaced: false })
const SCHEMAS = type('flowschemas')
const LEVELS = type('prioritylevelconfigurations')

/** As long as it says true, the spec is ours; people who change the spec set it to false. */
const AUTO_UPDATE = 'apf.kubernetes.io/autoupdate-spec'
const INTERVAL_MS = 60_000

type Configured = KubernetesObject & { spec?: unknown }

/** The objects that every cluster has, with a status, as a new cluster gets them. */
export function initialFlowControlObjects(clock: Clock): KubernetesObject[] {
  const now = formatTime(clock.now())
  return [
    ...Object.entries(bootstrapLevels).map(([name, spec]) =>
      copyObject(configured('PriorityLevelConfiguration', name, spec)),
    ),
    ...Object.entries(bootstrapSchemas).map(([name, spec]) => ({
      ...copyObject(configured('FlowSchema', name, spec)),
      status: { conditions: [dangling(spec.priorityLevelConfiguration.name, true, now)] },
    })),
  ]
}

const configured = (kind: string, name: string, spec: object) => ({
  kind,
  apiVersion: `${GROUP}/v1`,
  metadata: { name, annotations: { [AUTO_UPDATE]: 'true' } },
  spec,
})

/** Flow control follows its objects in the store, and the objects that every cluster has are kept there. */
export async function keepFlowControlObjects(
  context: FollowContext & { readonly log: Logger },
  control: FlowControl,
  transport: Transport,
): Promise<void> {
  const schemas = new Map<string, FlowSchema>()
  const levels = new Map<string, PriorityLevelConfiguration>()
  await Promise.all([
    follow(context, SCHEMAS, (_, name, object) => {
      note(schemas, name, object as FlowSchema | undefined)
      control.setSchema(name, object as FlowSchema | undefined)
    }),
    follow(context, LEVELS, (_, name, object) => {
      note(levels, name, object as PriorityLevelConfiguration | undefined)
      control.setLevel(name, object as PriorityLevelConfiguration | undefined)
    }),
  ])
  const keep = async () => {
    await Promise.all([
      ...Object.entries(bootstrapLevels).map(([name, spec]) =>
        ensure(transport, LEVELS, 'PriorityLevelConfiguration', name, spec, levels.get(name)),
      ),
      ...Object.entries(bootstrapSchemas).map(([name, spec]) =>
        ensure(transport, SCHEMAS, 'FlowSchema', name, spec, schemas.get(name)),
      ),
    ])
    const now = formatTime(context.clock.now())
    await Promise.all([...schemas.values()].map((schema) => tellDangling(transport, schema, levels, now)))
  }
  const again = () => {
    context.clock
      .after(INTERVAL_MS, () => {
        if (context.signal.aborted) return
        keep()
          .catch((error) => context.log.warn('could not keep the objects of flow control', { error: String(error) }))
          .finally(again)
      })
      .unref()
  }
  await keep()
  again()
}

function note<T>(map: Map<string, T>, name: string, object: T | undefined): void {
  if (object) map.set(name, object)
  else map.delete(name)
}

async function ensure(
  transport: Transport,
  resource: ResourceType,
  kind: string,
  name: string,
  spec: object,
  found: Configured | undefined,
): Promise<void> {
  if (!found) {
    await transport.call({ verb: 'create', resource, body: configured(kind, name, spec) }).catch(unlessCode(409))
    return
  }
  if (found.metadata.annotations?.[AUTO_UPDATE] !== 'true' || deepEqual(found.spec, spec)) return
  await transport.call({ verb: 'update', resource, name, body: { ...found, spec } }).catch(unlessCode(409))
}

const unlessCode = (code: number) => (error: unknown) => {
  if (!(error instanceof ApiError) || error.code !== code) throw error
}

/** Whether the level of a schema is there: a schema without one matches nothing. */
async function tellDangling(
  transport: Transport,
  schema: FlowSchema,
  levels: ReadonlyMap<string, unknown>,
  lastTransitionTime: string,
): Promise<void> {
  const level = schema.spec?.priorityLevelConfiguration.name ?? ''
  const isThere = levels.has(level)
  const condition = dangling(level, isThere, lastTransitionTime)
  if (schema.status?.conditions?.find((one) => one.type === 'Dangling')?.status === condition.status) return
  const others = (schema.status?.conditions ?? []).filter((one) => one.type !== 'Dangling')
  const conditions = [...others, condition]
  await transport
    .call({
      verb: 'patch',
      resource: SCHEMAS,
      name: schema.metadata.name!,
      subresource: 'status',
      patchType: 'application/merge-patch+json',
      body: { status: { conditions } },
    })
    .catch(unlessCode(404))
}

function dangling(level: string, isThere: boolean, lastTransitionTime: string) {
  const what = isThere ? 'and it exists' : 'but there is no such object'
  return {
    type: 'Dangling',
    status: isThere ? 'False' : 'True',
    reason: isThere ? 'Found' : 'NotFound',
    message: `This FlowSchema references the PriorityLevelConfiguration object named ${JSON.stringify(level)} ${what}`,
    lastTransitionTime,
  }
}
