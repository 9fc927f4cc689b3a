/** Field names: of events.k8s.io, and of core. All others are the same in both. */
const RENAMED: readonly (readonly [events: string, core: string])[] = [
  ['regarding', 'involvedObject'],
  ['note', 'message'],
  ['reportingController', 'reportingComponent'],
  ['deprecatedSource', 'source'],
  ['deprecatedFirstTimestamp', 'firstTimestamp'],
  ['deprecatedLastTimestamp', 'lastTimestamp'],
  ['deprecatedCount', 'count'],
]

export function renameToCore(draft: object): void {
  for (const [events, core] of RENAMED) rename(draft as Record<string, unknown>, events, core)
}

export function renameToEvents(draft: object): void {
  for (const [events, core] of RENAMED) rename(draft as Record<string, unknown>, core, events)
}

function rename(draft: Record<string, unknown>, from: string, to: string): void {
  if (draft[from] !== undefined) draft[to] = draft[from]
  delete draft[from]
}
