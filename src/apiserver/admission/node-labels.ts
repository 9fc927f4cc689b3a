import { LABEL } from '../../api/meta/well-known.ts'

/** Labels of Kubernetes' own that a kubelet may set on its node. */
const KUBELET_LABELS = new Set([
  LABEL.hostname,
  LABEL.zone,
  LABEL.region,
  LABEL.betaZone,
  LABEL.betaRegion,
  'node.kubernetes.io/instance-type',
  LABEL.betaInstanceType,
  LABEL.os,
  LABEL.arch,
  LABEL.betaOs,
  LABEL.betaArch,
  'node.kubernetes.io/windows-build',
])
const KUBELET_PREFIXES = ['kubelet.kubernetes.io', 'node.kubernetes.io']
const KUBERNETES_PREFIXES = ['kubernetes.io', 'k8s.io']

const isWithin = (prefix: string, domains: readonly string[]) =>
  domains.some((domain) => prefix === domain || prefix.endsWith(`.${domain}`))

/** Scheduling trusts these labels: a node that sets them could draw pods to itself. */
function isForbidden(label: string): boolean {
  const slash = label.indexOf('/')
  if (slash < 0) return false
  const prefix = label.slice(0, slash)
  if (!isWithin(prefix, KUBERNETES_PREFIXES)) return false
  return !KUBELET_LABELS.has(label) && !isWithin(prefix, KUBELET_PREFIXES)
}

type Labels = Readonly<Record<string, string>>

/** Of the labels that a node changed on itself, those it may not change, in order. */
export function forbiddenNodeLabels(labels: Labels, old: Labels): string[] {
  const changed = new Set([...Object.keys(labels), ...Object.keys(old)])
  return [...changed].filter((label) => labels[label] !== old[label] && isForbidden(label)).sort()
}
