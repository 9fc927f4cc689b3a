import type { AuditOptions } from './audit/auditor.ts'
import { auditLogLimits } from './audit/log-backend.ts'
import type { EncryptionConfiguration } from './encryption/configuration.ts'
import type { KubeletConnector } from './kubelet-connector.ts'
import type { SecurityOptions } from './security.ts'

interface Settings extends Pick<SecurityOptions, 'authentication' | 'authorization'> {
  readonly audit?: AuditOptions
  readonly encryption?: EncryptionConfiguration
  readonly kubelets?: KubeletConnector
}

export type Flags = Readonly<Record<string, string>>

/** What this server was started with, by the names of kube-apiserver's flags; served at /flagz. */
export function apiServerFlags(settings: Settings, admissionPlugins: readonly string[]): Flags {
  const { authentication = {}, authorization, encryption, kubelets } = settings
  return {
    'anonymous-auth': String(authentication.anonymous ?? false),
    ...auditFlags(settings.audit),
    'authorization-mode': ['Node', 'RBAC', ...(authorization?.webhook ? ['Webhook'] : [])].join(','),
    'enable-admission-plugins': admissionPlugins.join(','),
    ...(encryption && { 'encryption-provider-config': encryptedResources(encryption) }),
    // Kubelets are always verified by the cluster's authority, see kubelet-connector.ts.
    ...(kubelets && { 'kubelet-certificate-authority': 'cluster' }),
    // Tokens are always looked up and never live longer than was asked for.
    'service-account-extend-token-expiration': 'false',
    'service-account-lookup': 'true',
    ...(authentication.staticTokens?.length && { 'token-auth-file': `${authentication.staticTokens.length} tokens` }),
  }
}

function auditFlags(audit: AuditOptions | undefined): Flags {
  if (!audit?.log) return {}
  const { maxBytes, maxBackups, maxDays } = auditLogLimits(audit.log)
  return {
    'audit-log-maxage': String(maxDays),
    'audit-log-maxbackup': String(maxBackups),
    'audit-log-maxsize': String(Math.round(maxBytes / (1024 * 1024))),
    'audit-log-path': audit.log.path,
  }
}

const encryptedResources = ({ resources = [] }: EncryptionConfiguration) =>
  resources.flatMap((one) => one.resources ?? []).join(',')

/** In the form of upstream: a line per flag, by name. */
export function flagz(flags: Flags): string {
  const lines = Object.entries(flags).map(([name, value]) => `${name}=${value}`)
  return `kube-apiserver flagz\n\n${lines.toSorted().join('\n')}\n`
}
