import type { Conntrack, Flow, FlowEvent, FlowFilter, FlowTuple, NewFlow } from '../conntrack.ts'
import { FLOW_STATUS } from '../conntrack.ts'
import { ipBytes } from '../netlink/addresses.ts'
import { LinuxError } from '../system-error.ts'
import { EEXIST, ENOENT } from './errors.ts'

export class FakeConntrackState {
  readonly flows = new Map<string, Flow>()
  readonly listeners = new Set<(event: FlowEvent) => void>()
  nextId = 1

  emit(event: FlowEvent): void {
    for (const listener of this.listeners) {
      queueMicrotask(() => {
        if (this.listeners.has(listener)) listener(event)
      })
    }
  }
}

const keyOf = (tuple: FlowTuple) =>
  [tuple.protocol, tuple.source, tuple.sourcePort, tuple.destination, tuple.destinationPort].join(' ')

export function openFakeConntrack(state: FakeConntrackState): Conntrack {
  return {
    list: (family, filter) =>
      [...state.flows.values()].filter(
        ({ original }) => original.source.includes(':') === (family === 'ip6') && passes(original, filter),
      ),
    delete(flow) {
      const key = keyOf(flow.original)
      const found = state.flows.get(key)
      if (!found || found.id !== flow.id) throw new LinuxError(ENOENT, `delete flow to ${flow.original.destination}`)
      state.flows.delete(key)
      state.emit({ change: 'destroyed', flow: found })
    },
    insert: (flow) => insert(state, flow),
    watch(listener) {
      state.listeners.add(listener)
      return { [Symbol.dispose]: () => void state.listeners.delete(listener) }
    },
    [Symbol.dispose]: () => {},
  }
}

function passes(original: FlowTuple, filter: FlowFilter | undefined): boolean {
  if (!filter) return true
  return (
    original.protocol === filter.protocol &&
    (filter.destination === undefined || original.destination === filter.destination) &&
    (filter.destinationPort === undefined || original.destinationPort === filter.destinationPort)
  )
}

function insert(state: FakeConntrackState, { original, reply, timeoutSeconds, mark = 0 }: NewFlow): void {
  for (const tuple of [original, reply]) for (const ip of [tuple.source, tuple.destination]) ipBytes(ip)
  const key = keyOf(original)
  if (state.flows.has(key)) throw new LinuxError(EEXIST, `insert flow to ${original.destination}`)
  const status = FLOW_STATUS.seenReply | FLOW_STATUS.confirmed
  const flow: Flow = { original, reply, id: state.nextId++, status, mark, timeoutSeconds }
  state.flows.set(key, flow)
  state.emit({ change: 'new', flow })
}
