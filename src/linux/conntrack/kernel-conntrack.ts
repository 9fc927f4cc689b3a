import type { Conntrack, FlowEvent } from '../conntrack.ts'
import type { NetlinkMessage } from '../netlink/reader.ts'
import { NETLINK_NETFILTER, NetlinkSocket, NLM_F_CREATE, NLM_F_EXCL } from '../netlink/socket.ts'
import type { NetworkNamespace } from '../network-namespace.ts'
import * as flows from './flow-messages.ts'

const RECEIVE_BUFFER_BYTES = 8 << 20
/** NFNLGRP_CONNTRACK_NEW, UPDATE, DESTROY */
const EVENT_GROUPS = [1, 2, 3]

export function openKernelConntrack(namespace?: NetworkNamespace): Conntrack {
  const socket = new NetlinkSocket(NETLINK_NETFILTER, { namespace, receiveBufferBytes: RECEIVE_BUFFER_BYTES })
  return {
    list: (family, filter) =>
      socket.dump(
        flows.GET_FLOWS,
        'flows',
        (to) => flows.writeFilter(to, family, filter),
        (message) => {
          const flow = flows.readFlow(message)
          return flows.passesFilter(flow, filter) ? flow : undefined
        },
      ),
    delete(flow) {
      const what = `delete flow to ${flow.original.destination}`
      socket.request(flows.DELETE_FLOW, 0, what, (to) => flows.writeFlowName(to, flow))
    },
    insert(flow) {
      const what = `insert flow to ${flow.original.destination}`
      socket.request(flows.NEW_FLOW, NLM_F_CREATE | NLM_F_EXCL, what, (to) => flows.writeNewFlow(to, flow))
    },
    watch: (listener) => watchFlows(namespace, listener),
    [Symbol.dispose]: () => socket[Symbol.dispose](),
  }
}

function watchFlows(namespace: NetworkNamespace | undefined, listener: (event: FlowEvent) => void): Disposable {
  const socket = new NetlinkSocket(NETLINK_NETFILTER, { namespace, receiveBufferBytes: RECEIVE_BUFFER_BYTES })
  for (const group of EVENT_GROUPS) socket.join(group)
  const handle = socket.onMessage(
    (message) => listener(readEvent(message)),
    () => listener({ change: 'overrun' }),
  )
  return {
    [Symbol.dispose]: () => {
      handle[Symbol.dispose]()
      socket[Symbol.dispose]()
    },
  }
}

function readEvent(message: NetlinkMessage): FlowEvent {
  const flow = flows.readFlow(message)
  if (message.type === flows.DELETE_FLOW) return { change: 'destroyed', flow }
  return { change: message.flags & NLM_F_CREATE ? 'new' : 'updated', flow }
}
