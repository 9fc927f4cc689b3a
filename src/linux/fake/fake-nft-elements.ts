import { lengthOf } from '../nft-values.ts'
import type { NftElement, NftSet } from '../nftables.ts'
import { EEXIST, EINVAL, ENOENT } from './errors.ts'
import { targetProblem } from './fake-nft-rules.ts'
import { type FakeSet, type FakeTable, keyText, targetOf, type UndoLog } from './fake-nft-table.ts'

/** The errno of the first element that is refused, or 0. */
export function addElements(table: FakeTable, found: FakeSet, elements: readonly NftElement[], undo: UndoLog): number {
  for (const element of elements) {
    const problem = elementProblem(table, found.set, element)
    if (problem) return problem
    const existing = found.elements.get(elementKey(found.set, element))
    if (existing) {
      if (!sameData(existing, element)) return EEXIST
      continue
    }
    if (found.set.interval && overlaps(found, element)) return EEXIST
    undo.set(found.elements, elementKey(found.set, element), element)
    retarget(table, found, targetOf(element.verdict), 1, undo)
  }
  return 0
}

export function deleteElements(
  table: FakeTable,
  found: FakeSet,
  elements: readonly NftElement[],
  undo: UndoLog,
): number {
  for (const element of elements) {
    const key = elementKey(found.set, element)
    const existing = found.elements.get(key)
    if (!existing) return ENOENT
    found.elements.delete(key)
    undo.push(() => found.elements.set(key, existing))
    retarget(table, found, targetOf(existing.verdict), -1, undo)
  }
  return 0
}

function elementProblem(table: FakeTable, set: NftSet, element: NftElement): number {
  if (element.key.length !== lengthOf(set.key)) return EINVAL
  if (element.keyEnd && (!set.interval || element.keyEnd.length !== element.key.length)) return EINVAL
  if (set.data === 'verdict') {
    if (!element.verdict) return EINVAL
    const target = targetOf(element.verdict)
    return target === undefined ? 0 : targetProblem(table, target)
  }
  if (element.verdict || (set.data === undefined) !== (element.data === undefined)) return EINVAL
  return set.data && element.data!.length !== lengthOf(set.data) ? EINVAL : 0
}

/** A range is itself only with both ends. */
function elementKey(set: NftSet, element: NftElement): string {
  return set.interval ? keyText(element.key) + keyText(element.keyEnd ?? element.key) : keyText(element.key)
}

const sameData = (a: NftElement, b: NftElement) =>
  a.verdict?.verdict === b.verdict?.verdict &&
  targetOf(a.verdict) === targetOf(b.verdict) &&
  Buffer.compare(a.data ?? Buffer.alloc(0), b.data ?? Buffer.alloc(0)) === 0

/** Ranges of concatenations overlap when all their parts do; here one part is compared, as in sets of CIDRs. */
function overlaps(found: FakeSet, element: NftElement): boolean {
  if (found.set.key.length > 1) return false
  for (const other of found.elements.values()) {
    const before = Buffer.compare(element.keyEnd ?? element.key, other.key) < 0
    const after = Buffer.compare(element.key, other.keyEnd ?? other.key) > 0
    if (!before && !after) return true
  }
  return false
}

function retarget(table: FakeTable, found: FakeSet, chain: string | undefined, by: 1 | -1, undo: UndoLog): void {
  if (chain === undefined) return
  undo.count(table.chains.get(chain)!, by)
  const count = (found.targets.get(chain) ?? 0) + by
  const put = (value: number) => {
    if (value > 0) found.targets.set(chain, value)
    else found.targets.delete(chain)
  }
  put(count)
  undo.push(() => put(count - by))
}
