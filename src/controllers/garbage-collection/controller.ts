import { type Controller, type ControllerContext, type ReconcileQueue, watch } from '../controller.ts'
import { customType, servedTypes } from '../served-types.ts'
import { isCollectable, type MonitorListener, Monitors } from './monitors.ts'
import { OwnerGraph } from './owner-graph.ts'
import { collect } from './reconcile.ts'

/**
 * Deletes what has lost all its owners, and serves the ways an owner can be deleted: before its dependents
 * (background), after them (foreground), or without them (orphan). Keys are uids.
 */
export function garbageCollectionController(context: ControllerContext): Controller {
  const types = servedTypes(context.informers)
  const graph = new OwnerGraph()
  const monitors = new Monitors(context)
  const collector = { client: context.client, events: context.events, graph, types }
  let unfollow = () => {}

  return {
    name: 'garbage-collector-controller',
    workers: 20,
    watches: [
      watch(types.definitions, () => []),
      ...types
        .list()
        .filter(isCollectable)
        .map((type) =>
          watch(monitors.monitor(type), (old, current) => graph.change(type, old?.metadata, current?.metadata)),
        ),
    ],
    start(queue: ReconcileQueue) {
      const add = (uids: Iterable<string>) => {
        for (const uid of uids) queue.add(uid)
      }
      const listener: MonitorListener = {
        changed: (type, old, current) => add(graph.change(type, old?.metadata, current?.metadata)),
        forgotten: ({ metadata }) => add(graph.forget(metadata)),
      }
      unfollow = types.definitions.onChange((old, current) =>
        monitors.follow(old && customType(old), current && customType(current), listener),
      )
    },
    reconcile: (uid) => collect(collector, uid),
    async stop() {
      unfollow()
      await monitors.stop()
    },
  }
}
