/** Features of v1.36 that are off unless somebody turns them on. */
export const FEATURE_GATES = ['ClusterTrustBundle', 'ClusterTrustBundleProjection'] as const
export type FeatureGate = (typeof FEATURE_GATES)[number]

/** One set for the process, as Kubernetes has it: kinds are the same for all who look at them. */
const enabled = new Set<FeatureGate>()

export const isEnabled = (gate: FeatureGate): boolean => enabled.has(gate)

/** Returns how to take that back. */
export function enableFeatures(gates: readonly FeatureGate[]): () => void {
  const added = gates.filter((gate) => !enabled.has(gate))
  for (const gate of added) enabled.add(gate)
  return () => {
    for (const gate of added) enabled.delete(gate)
  }
}

/** Reads `ClusterTrustBundle=true,Other=false`; throws a sentence that tells what is wrong. */
export function parseFeatureGates(text: string): FeatureGate[] {
  const chosen = text.split(',').filter((part) => part.trim() !== '')
  return chosen.flatMap((part) => {
    const [name = '', value = ''] = part.trim().split('=')
    if (!isFeatureGate(name)) throw new Error(`unrecognized feature gate: ${name}: one of ${FEATURE_GATES.join(', ')}`)
    if (value !== 'true' && value !== 'false') throw new Error(`invalid value of ${name}=${value}: true or false`)
    return value === 'true' ? [name] : []
  })
}

const isFeatureGate = (name: string): name is FeatureGate => (FEATURE_GATES as readonly string[]).includes(name)
