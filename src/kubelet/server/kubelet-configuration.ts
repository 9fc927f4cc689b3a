interface Settings {
  readonly listen: { readonly host: string; readonly port: number }
  readonly clusterDns: readonly string[]
  readonly clusterDomain: string
  readonly podPidsLimit?: number | undefined
  /** Whether something other than the rights of administrators decides who may ask. */
  readonly isAuthorizedElsewhere: boolean
}

/** How a kubelet was started, as upstream's /configz tells it (kubelet.config.k8s.io/v1beta1). */
export const kubeletConfiguration = ({ listen, clusterDns, clusterDomain, ...settings }: Settings) => ({
  kind: 'KubeletConfiguration',
  apiVersion: 'kubelet.config.k8s.io/v1beta1',
  address: listen.host,
  port: listen.port,
  // There is no second port, and nobody is asked anything without a certificate.
  readOnlyPort: 0,
  authentication: { anonymous: { enabled: false }, webhook: { enabled: false } },
  authorization: { mode: settings.isAuthorizedElsewhere ? 'Webhook' : 'Administrators' },
  clusterDNS: clusterDns,
  clusterDomain,
  podPidsLimit: settings.podPidsLimit ?? -1,
  enableDebuggingHandlers: true,
  enableProfilingHandler: false,
})
