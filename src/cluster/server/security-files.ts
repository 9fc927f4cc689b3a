import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Changes, fileChanges } from '../../base/changes.ts'
import { systemClock } from '../../base/clock.ts'
import type { Logger } from '../../base/log.ts'
import type { ClusterOptions } from '../cluster.ts'
import type { ClusterConfiguration } from '../configuration.ts'

type AuditPolicy = NonNullable<ClusterOptions['audit']>['policy']
type Encryption = NonNullable<ClusterOptions['encryption']>
type Authentication = NonNullable<NonNullable<ClusterOptions['authentication']>['configuration']>

/**
 * Reads the files that say what is logged, encrypted and accepted as a token. The last two are read again when they change.
 * Without a path the audit log is in the data directory.
 */
export async function securityOptions(
  { auditPolicy, auditLog, encryptionConfig, authenticationConfig }: ClusterConfiguration,
  dataDir: string,
  log: Logger,
): Promise<Pick<ClusterOptions, 'audit' | 'encryption' | 'encryptionChanges' | 'authentication'>> {
  if (!auditPolicy && !encryptionConfig && !authenticationConfig) return {}
  const policy = auditPolicy && (await read<AuditPolicy>(auditPolicy, log))
  const keys = encryptionConfig && (await read<Encryption>(encryptionConfig, log))
  const issuers = authenticationConfig && (await read<Authentication>(authenticationConfig, log))
  const path = auditLog ?? join(dataDir, 'audit.log')
  return {
    ...(policy && { audit: { policy: policy.value, log: { path } } }),
    ...(keys && { encryption: keys.value, encryptionChanges: keys.changes }),
    ...(issuers && { authentication: { configuration: issuers.value, configurationChanges: issuers.changes } }),
  }
}

async function read<T>(path: string, log: Logger): Promise<{ readonly value: T; readonly changes: Changes<T> }> {
  const { parse } = await import('yaml')
  const content = await readFile(path, 'utf8')
  const toValue = (text: string) => parse(text) as T
  const failed = (error: unknown) => log.error('cannot read a file that changed', { path, error: String(error) })
  return { value: toValue(content), changes: fileChanges(path, content, toValue, systemClock, failed) }
}
