import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { AuditFacts, EncryptionFacts } from '../facts.ts'
import type { Inspected } from './inspected.ts'
import { descriptorsOf } from './process.ts'

async function readYaml<T>(path: string): Promise<T> {
  const { parse } = await import('yaml')
  return parse(await readFile(path, 'utf8')) as T
}

interface PolicyRule {
  readonly level?: string
  readonly resources?: readonly { readonly resources?: readonly string[] }[]
}

export async function auditFacts({ dataDir, files, pid }: Inspected): Promise<AuditFacts | undefined> {
  if (files.auditPolicy === undefined) return undefined
  const policy = await readYaml<{ rules?: readonly PolicyRule[] }>(files.auditPolicy)
  const logPath = files.auditLog ?? join(dataDir, 'audit.log')
  return {
    logPath,
    isLogOpen: logPath === '-' || (await descriptorsOf(pid)).includes(logPath),
    rules: (policy.rules ?? []).map(({ level = 'None', resources = [] }) => ({
      level,
      resources: resources.flatMap((group) => group.resources ?? []),
    })),
  }
}

interface EncryptionConfiguration {
  readonly resources?: readonly { readonly resources?: readonly string[]; readonly providers?: readonly object[] }[]
}

export async function encryptionFacts({ files }: Inspected): Promise<EncryptionFacts | undefined> {
  if (files.encryption === undefined) return undefined
  const { resources = [] } = await readYaml<EncryptionConfiguration>(files.encryption)
  const pairs = resources.flatMap(({ resources: names = [], providers = [] }) =>
    names.map((name) => [name, Object.keys(providers[0] ?? {})[0] ?? 'identity'] as const),
  )
  return { path: files.encryption, firstProviders: Object.fromEntries(pairs) }
}
