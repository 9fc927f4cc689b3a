import { gunzipSync } from 'node:zlib'
import type { JsonObject } from '../../api/meta/object.ts'

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

let loaded: Promise<OpenApiData> | undefined

/** Unpacked on first use: a server that nobody asks never pays for it. */
export function openApiData(): Promise<OpenApiData> {
  loaded ??= import('./generated/openapi-data.ts').then(
    ({ OPENAPI_DATA }) => JSON.parse(gunzipSync(Buffer.from(OPENAPI_DATA, 'base64')).toString()) as OpenApiData,
  )
  return loaded
}
