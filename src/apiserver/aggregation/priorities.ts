/** Where the built-in groups stand in discovery: the higher, the earlier. */
const GROUP_PRIORITIES: Readonly<Record<string, number>> = {
  '': 18_000,
  apps: 17_800,
  'events.k8s.io': 17_750,
  'authentication.k8s.io': 17_700,
  'authorization.k8s.io': 17_600,
  autoscaling: 17_500,
  batch: 17_400,
  'certificates.k8s.io': 17_300,
  'networking.k8s.io': 17_200,
  policy: 17_100,
  'rbac.authorization.k8s.io': 17_000,
  'storage.k8s.io': 16_800,
  'apiextensions.k8s.io': 16_700,
  'admissionregistration.k8s.io': 16_700,
  'scheduling.k8s.io': 16_600,
  'coordination.k8s.io': 16_500,
  'node.k8s.io': 16_300,
  'discovery.k8s.io': 16_200,
  'flowcontrol.apiserver.k8s.io': 16_100,
  'internal.apiserver.k8s.io': 16_000,
  'storagemigration.k8s.io': 16_000,
  'resource.k8s.io': 15_900,
}

export const isBuiltinGroup = (group: string) => Object.hasOwn(GROUP_PRIORITIES, group)

/** Of a group that this server serves itself; custom resources are behind all that is built in. */
export const groupPriorityOf = (group: string): number => GROUP_PRIORITIES[group] ?? 1000

export function versionPriorityOf(group: string, version: string): number {
  if (!isBuiltinGroup(group)) return 100
  if (group === '') return 1
  if (version.includes('alpha')) return 1
  if (version.includes('beta')) return 9
  return version === 'v2' ? 30 : 15
}
