/** What `sampan snapshot` loads beyond the command line itself. */

export { adoptRanges } from '../cluster/network-ranges.ts'
export { openStore, storeDirectory } from '../cluster/open-store.ts'
export { restoreSnapshot, saveSnapshot } from '../store/snapshot.ts'
