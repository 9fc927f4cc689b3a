import type { NftTransaction } from '../nft-transaction.ts'
import { type Nftables, NftError, type NftFailure, type NftGeneration, type NftTableContents } from '../nftables.ts'
import { LinuxError } from '../system-error.ts'
import { ENOENT, ERESTART } from './errors.ts'
import { applyOperation, type FakeRuleset } from './fake-nft-apply.ts'
import { type FakeTable, tableKey, UndoLog } from './fake-nft-table.ts'

export class FakeNftablesState implements FakeRuleset {
  readonly tables = new Map<string, FakeTable>()
  readonly listeners = new Set<(change: NftGeneration) => void>()
  nextHandle = 1n
  generation = 1
}

/** Several may be opened on one state, as several processes may change the rules of one namespace. */
export function openFakeNftables(state: FakeNftablesState): Nftables {
  return {
    generation: () => state.generation,
    commit: async (transaction, options) => commit(state, transaction, options?.generation),
    tables: () => [...state.tables.values()].map(({ table }) => table),
    list(table) {
      const found = state.tables.get(tableKey(table))
      return found && contentsOf(found)
    },
    elements(set) {
      const found = state.tables.get(tableKey(set.table))?.sets.get(set.name)
      if (!found) throw new LinuxError(ENOENT, `elements of ${set.name}`)
      return [...found.elements.values()]
    },
    watch(listener) {
      state.listeners.add(listener)
      return { [Symbol.dispose]: () => void state.listeners.delete(listener) }
    },
    [Symbol.dispose]: () => {},
  }
}

function commit(state: FakeNftablesState, transaction: NftTransaction, generation: number | undefined): void {
  const describe = (operation: number) => transaction.describe(operation)
  if (generation !== undefined && generation !== state.generation) throw new NftError([{ errno: ERESTART }], describe)
  const undo = new UndoLog()
  const failures: NftFailure[] = []
  for (const [index, operation] of transaction.operations.entries()) {
    const errno = applyOperation(state, operation, undo)
    if (errno) failures.push({ operation: index, errno })
  }
  if (failures.length > 0) {
    undo.undo()
    throw new NftError(failures, describe)
  }
  if (!undo.isEmpty) announce(state)
}

function announce(state: FakeNftablesState): void {
  const change = { generation: ++state.generation, processId: process.pid, processName: 'node' }
  for (const listener of state.listeners) {
    queueMicrotask(() => {
      if (state.listeners.has(listener)) listener(change)
    })
  }
}

function contentsOf({ table, chains, sets }: FakeTable): NftTableContents {
  return {
    chains: [...chains.values()].map(({ name, base }) => ({ table, name, ...(base && { base }) })),
    sets: [...sets.values()].map(({ set }) => set),
    rules: [...chains.values()].flatMap(({ rules }) => rules),
  }
}
