import type { KeyToPath } from '../../api/generated/core-v1.ts'

/** A file of a volume, by its path in it. */
export interface PayloadFile {
  readonly data: Buffer
  readonly mode: number
  /** The owner, where it is not the kubelet. */
  readonly uid?: number
}

export type Payload = ReadonlyMap<string, PayloadFile>

export const DEFAULT_MODE = 0o644

export interface DataObject {
  /** For messages: `configmap` and its name. */
  readonly text: string
  readonly data: ReadonlyMap<string, Buffer>
}

/** Which keys become which files: all under their own names, or those listed. */
export function payloadOf(
  object: DataObject,
  items: readonly KeyToPath[] | undefined,
  defaultMode: number | undefined,
  optional: boolean | undefined,
): Map<string, PayloadFile> {
  const usual = defaultMode ?? DEFAULT_MODE
  const payload = new Map<string, PayloadFile>()
  if (!items?.length) {
    for (const [key, data] of object.data) payload.set(key, { data, mode: usual })
    return payload
  }
  for (const { key, path, mode } of items) {
    const data = object.data.get(key)
    if (data) payload.set(path, { data, mode: mode ?? usual })
    else if (!optional) throw new Error(`${object.text} references non-existent config key: ${key}`)
  }
  return payload
}

export function configMapData(
  name: string,
  found: { data?: Record<string, string>; binaryData?: Record<string, string> } | undefined,
): DataObject {
  const data = new Map<string, Buffer>()
  for (const [key, text] of Object.entries(found?.data ?? {})) data.set(key, Buffer.from(text))
  for (const [key, text] of Object.entries(found?.binaryData ?? {})) data.set(key, Buffer.from(text, 'base64'))
  return { text: `configmap ${name}`, data }
}

export function secretData(name: string, found: { data?: Record<string, string> } | undefined): DataObject {
  const data = new Map<string, Buffer>()
  for (const [key, text] of Object.entries(found?.data ?? {})) data.set(key, Buffer.from(text, 'base64'))
  return { text: `secret ${name}`, data }
}
