import { gunzipSync } from 'node:zlib'
import type { JsonObject } from '../api/meta/object.ts'

export interface QueryParameter {
  readonly name: string
  readonly type: string
  readonly description?: string
}

/** Descriptions of built-in types and parameters, in the form of an OpenAPI v2 document. */
export interface OpenApiData {
  readonly definitions: Readonly<Record<string, JsonObject>>
  readonly parameters: Readonly<Record<string, QueryParameter>>
  /** By resource and subresource: `pods/log`. */
  readonly connect: Readonly<Record<string, readonly QueryParameter[]>>
}

let kept: WeakRef<OpenApiData> | undefined

/**
 * Unpacked when a document is to be rendered: a server that nobody asks never pays for it, and one that was asked
 * keeps only the documents.
 */
export async function openApiData(): Promise<OpenApiData> {
  const known = kept?.deref()
  if (known !== undefined) return known
  const { OPENAPI_DATA } = await import('./generated/openapi-data.ts')
  const data = JSON.parse(gunzipSync(Buffer.from(OPENAPI_DATA, 'base64')).toString()) as OpenApiData
  kept = new WeakRef(data)
  return data
}
