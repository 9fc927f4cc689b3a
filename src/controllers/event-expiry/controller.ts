import { eventKind } from '../../api/kinds/core/event/kind.ts'
import { ApiError } from '../../api/meta/api-error.ts'
import { startInformer } from '../../client/informer.ts'
import { type Controller, type ControllerContext, watch } from '../controller.ts'
import { type ExpiringEvent, expiringOnly } from './expiring-event.ts'

/** Events of about the same age go together: so many milliseconds of them. */
const BUCKET = 60_000
const BY_BUCKET = 'bucket'

/**
 * Deletes Events an hour after they last happened. Of an Event only its age is kept, and one timer serves all Events
 * of a minute: keys are numbers of minutes.
 */
export function eventExpiryController({ client, clock, random, log }: ControllerContext): Controller {
  const { group, version, plural, namespaced } = eventKind
  const events = startInformer<ExpiringEvent>({
    transport: client.transport,
    resource: { group, version, plural, namespaced },
    clock,
    random,
    log,
    transform: expiringOnly,
    indexes: { [BY_BUCKET]: (event) => [bucketOf(event)] },
  })

  async function remove({ metadata }: ExpiringEvent): Promise<void> {
    const { namespace = '', name = '', uid, resourceVersion } = metadata
    // One that happens again at this moment lives on.
    const preconditions = { ...(uid && { uid }), ...(resourceVersion && { resourceVersion }) }
    try {
      await client.resource(eventKind).namespace(namespace).delete(name, { preconditions })
    } catch (error) {
      if (!(error instanceof ApiError && (error.code === 404 || error.code === 409))) throw error
    }
  }

  return {
    name: 'event-expiry-controller',
    watches: [watch(events, (_, current) => (current ? [bucketOf(current)] : []))],
    async reconcile(bucket) {
      const wait = Number(bucket) * BUCKET - clock.now()
      if (wait > 0) return { retryAfter: wait }
      await Promise.all(events.byIndex(BY_BUCKET, bucket).map(remove))
    },
    async stop() {
      await events[Symbol.asyncDispose]()
    },
  }
}

const bucketOf = (event: ExpiringEvent) => String(Math.ceil(event.expires / BUCKET))
