import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { KubernetesObject } from '../../api/meta/object.ts'
import { UserError } from '../../cluster/user-error.ts'

/** The objects of files, of all YAML and JSON files in directories, and of `-` for standard input. */
export async function readManifests(paths: readonly string[], recursive = false): Promise<KubernetesObject[]> {
  const objects: KubernetesObject[] = []
  for (const path of paths) {
    for (const file of await filesOf(path, recursive)) objects.push(...(await readManifest(file)))
  }
  if (objects.length === 0) throw new UserError('there are no objects in what was given with -f')
  return objects
}

async function filesOf(path: string, recursive: boolean): Promise<string[]> {
  if (path === '-') return [path]
  const found = await stat(path).catch(() => undefined)
  if (!found) throw new UserError(`there is no file ${path}`)
  if (!found.isDirectory()) return [path]
  const names = (await readdir(path, { recursive })).toSorted()
  return names.filter((name) => /\.(ya?ml|json)$/.test(name)).map((name) => join(path, name))
}

async function readManifest(file: string): Promise<KubernetesObject[]> {
  const text = file === '-' ? await readInput() : await readFile(file, 'utf8')
  const name = file === '-' ? 'standard input' : file
  const { parseAllDocuments } = await import('yaml')
  const objects: KubernetesObject[] = []
  for (const document of parseAllDocuments(text)) {
    if (document.errors[0]) throw new UserError(`${name}: ${document.errors[0].message}`)
    objects.push(...flatten(document.toJS(), name))
  }
  return objects
}

/** A List stands for its items; an empty document for nothing. */
function flatten(document: unknown, name: string): KubernetesObject[] {
  if (document === null || document === undefined) return []
  const object = document as KubernetesObject & { items?: unknown[] }
  if (typeof object !== 'object' || !object.apiVersion || !object.kind) {
    throw new UserError(`${name}: an object needs apiVersion and kind`)
  }
  if (object.kind.endsWith('List') && Array.isArray(object.items))
    return object.items.flatMap((item) => flatten(item, name))
  if (!object.metadata?.name) throw new UserError(`${name}: ${object.kind} needs metadata.name`)
  return [object]
}

async function readInput(): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of process.stdin) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString('utf8')
}
