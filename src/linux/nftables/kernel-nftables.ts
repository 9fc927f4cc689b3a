import { refusalOf } from '../netlink/netlink-error.ts'
import type { NetlinkMessage } from '../netlink/reader.ts'
import { NETLINK_NETFILTER, NetlinkSocket, NLMSG_ERROR } from '../netlink/socket.ts'
import { NetlinkWriter } from '../netlink/writer.ts'
import type { NetworkNamespace } from '../network-namespace.ts'
import type { NftTransaction } from '../nft-transaction.ts'
import {
  type Nftables,
  type NftElement,
  NftError,
  type NftFailure,
  type NftGeneration,
  type NftSet,
  type NftTable,
  type NftTableContents,
} from '../nftables.ts'
import { FAMILIES } from './attributes.ts'
import { joinRanges, readChain, readElements, readGeneration, readRule, readSet, readTable } from './object-reader.ts'
import { MESSAGES, messageType, writeBatch, writeFamily } from './object-writer.ts'

/** Above this a commit takes milliseconds, and another thread does it. */
const LARGEST_SYNCHRONOUS_BATCH = 256 * 1024
const RECEIVE_BUFFER_BYTES = 4 << 20
/** The multicast group of nf_tables. */
const EVENT_GROUP = 7

export function openKernelNftables(namespace?: NetworkNamespace): Nftables {
  const queries = new NetlinkSocket(NETLINK_NETFILTER, { namespace })
  const batches = new NetlinkSocket(NETLINK_NETFILTER, { namespace, receiveBufferBytes: RECEIVE_BUFFER_BYTES })
  let last: Promise<void> = Promise.resolve()
  return {
    generation: () => generationOf(queries),
    commit(transaction, options) {
      const commit = last.then(() => commitTransaction(batches, transaction, options?.generation))
      last = commit.catch(() => {})
      return commit
    },
    tables: () => queries.dump(messageType(MESSAGES.getTable), 'tables', (to) => writeFamily(to, 0), readTable),
    list: (table) => consistent(queries, () => listTable(queries, table)),
    elements: (set) => listElements(queries, set),
    watch: (listener) => watchGenerations(namespace, listener),
    [Symbol.dispose]: () => {
      queries[Symbol.dispose]()
      // What was asked for before is still done.
      last.then(() => batches[Symbol.dispose]())
    },
  }
}

function generationOf(socket: NetlinkSocket): number {
  const [reply] = socket.request(messageType(MESSAGES.getGeneration), 0, 'generation', (to) => writeFamily(to, 0))
  return readGeneration(reply!).generation
}

async function commitTransaction(
  socket: NetlinkSocket,
  transaction: NftTransaction,
  generation: number | undefined,
): Promise<void> {
  if (transaction.operations.length === 0) return
  const writer = new NetlinkWriter(1 << 14)
  const operationBySequence = writeBatch(writer, transaction.operations, generation)
  if (writer.length > LARGEST_SYNCHRONOUS_BATCH) await socket.sendAsync(writer.bytes, writer.length)
  else socket.send(writer.bytes, writer.length)
  const failures = failuresOf(socket, operationBySequence)
  if (failures.length > 0) throw new NftError(failures, (operation) => transaction.describe(operation))
}

/** The kernel did everything inside send(): what it did not like is queued. */
function failuresOf(socket: NetlinkSocket, operationBySequence: readonly (number | undefined)[]): NftFailure[] {
  const failures: NftFailure[] = []
  socket.drain((message) => {
    const refusal = message.type === NLMSG_ERROR ? refusalOf(message) : undefined
    if (!refusal) return
    const operation = operationBySequence[refusal.sequence]
    failures.push({ ...(operation !== undefined && { operation }), errno: refusal.errno, text: refusal.text })
  })
  return failures
}

/** Several dumps that belong together are repeated if a transaction came between. */
function consistent<T>(socket: NetlinkSocket, read: () => T): T {
  for (;;) {
    const before = generationOf(socket)
    const result = read()
    if (generationOf(socket) === before) return result
  }
}

function listTable(socket: NetlinkSocket, table: NftTable): NftTableContents | undefined {
  const dump = <T>(message: number, parse: (message: NetlinkMessage) => T | undefined) =>
    socket.dump(messageType(message), `table ${table.name}`, (to) => writeFamily(to, FAMILIES[table.family]), parse)
  const exists = dump(MESSAGES.getTable, readTable).some(({ name }) => name === table.name)
  if (!exists) return undefined
  return {
    chains: dump(MESSAGES.getChain, (message) => readChain(table, message)),
    sets: dump(MESSAGES.getSet, (message) => readSet(table, message)),
    rules: socket.dump(
      messageType(MESSAGES.getRule),
      `table ${table.name}`,
      (to) => writeFamily(to, FAMILIES[table.family]).attributeString(1, table.name),
      readRule,
    ),
  }
}

function listElements(socket: NetlinkSocket, set: NftSet): NftElement[] {
  const found = socket.dump(
    messageType(MESSAGES.getElement),
    `elements of ${set.name}`,
    (to) => writeFamily(to, FAMILIES[set.table.family]).attributeString(1, set.table.name).attributeString(2, set.name),
    (message) => {
      const elements: Parameters<typeof readElements>[1] = []
      readElements(message, elements)
      return elements
    },
  )
  return joinRanges(found.flat(), set)
}

function watchGenerations(
  namespace: NetworkNamespace | undefined,
  listener: (change: NftGeneration) => void,
): Disposable {
  const socket = new NetlinkSocket(NETLINK_NETFILTER, { namespace, receiveBufferBytes: RECEIVE_BUFFER_BYTES })
  socket.join(EVENT_GROUP)
  // When events were lost, so may be a generation: the next request tells which one it is now.
  const overrun = () => listener({ generation: generationOf(queries) })
  const queries = new NetlinkSocket(NETLINK_NETFILTER, { namespace })
  const handle = socket.onMessage((message) => {
    if (message.type === messageType(MESSAGES.newGeneration)) listener(readGeneration(message))
  }, overrun)
  return {
    [Symbol.dispose]: () => {
      handle[Symbol.dispose]()
      socket[Symbol.dispose]()
      queries[Symbol.dispose]()
    },
  }
}
