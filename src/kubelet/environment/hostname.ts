import type { Pod } from '../../api/generated/core-v1.ts'

const MAX_HOSTNAME = 63
const MAX_FQDN = 64

export interface PodHostname {
  readonly hostname: string
  /** `subdomain.namespace.svc.cluster.local`, if the pod has one. */
  readonly domain: string
}

/** A pod is called as it asks to be, or by its own name cut to what a host may be called. */
export function podHostname({ metadata, spec }: Pod, clusterDomain: string): PodHostname {
  if (spec?.hostnameOverride) return { hostname: spec.hostnameOverride, domain: '' }
  const hostname = spec?.hostname || cut(metadata.name ?? '')
  const domain = spec?.subdomain ? `${spec.subdomain}.${metadata.namespace}.svc.${clusterDomain}` : ''
  return { hostname, domain }
}

const cut = (name: string) => name.slice(0, MAX_HOSTNAME).replace(/[-.]+$/, '')

/** What the kernel is told; with `setHostnameAsFQDN` the whole name, which may be too long for it. */
export function kernelHostname(pod: Pod, { hostname, domain }: PodHostname): string {
  if (!pod.spec?.setHostnameAsFQDN || domain === '') return hostname
  const full = `${hostname}.${domain}`
  if (full.length > MAX_FQDN)
    throw new Error(
      `failed to construct FQDN from pod hostname and cluster domain, FQDN ${full} is too long (${MAX_FQDN} characters is the max, ${full.length} characters requested)`,
    )
  return full
}
