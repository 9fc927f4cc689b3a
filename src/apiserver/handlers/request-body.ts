import { builtinType, type Kind } from '../../api/kind.ts'
import { unsupportedMediaType } from '../../api/meta/api-error.ts'
import { apiVersionOf } from '../../api/meta/object.ts'
import { type DecodedBody, decodeJson } from '../../api/schema/decode.ts'
import type { YamlResult } from '../../api/schema/yaml-reader.ts'
import type { PatchType } from '../../client/transport.ts'
import { PROTOBUF_TYPE } from '../http/media-type.ts'
import { JSON_TYPE, YAML_TYPE } from '../registry/decode.ts'
import type { ResourceInfo } from '../request/request-info.ts'
import type { RequestBody } from '../request/resource-request.ts'

/** What was sent to a resource, in the form its content type names. */
export async function requestBody(
  bytes: Buffer,
  contentType: string,
  patchType: PatchType | undefined,
  kind: Kind,
  info: ResourceInfo,
  readLargeYaml?: (text: string) => Promise<YamlResult>,
): Promise<RequestBody | undefined> {
  if (bytes.length === 0) return undefined
  const isYaml = patchType === 'application/apply-patch+yaml' || contentType === YAML_TYPE
  if (isYaml) return { type: 'decoded', decoded: jsonOf(bytes) ?? (await yamlOf(bytes, readLargeYaml)) }
  if (patchType || contentType === '' || contentType === JSON_TYPE)
    return { type: 'bytes', bytes, mediaType: JSON_TYPE }
  if (contentType !== PROTOBUF_TYPE || !hasProtobuf(kind)) throw unsupportedMediaType(writableTypes(kind))
  const { decodeProtobuf } = await import('../../api/protobuf/decode.ts')
  return { type: 'decoded', decoded: decodeProtobuf(bytes, kindOfBody(kind, info)) }
}

/** JSON is YAML, and far quicker to read: kubectl sends its apply patches so. Braces may be YAML's too: `{a: b,}`. */
function jsonOf(bytes: Buffer): DecodedBody | undefined {
  if (bytes[0] !== 0x7b) return undefined
  try {
    return decodeJson(bytes)
  } catch {
    return undefined
  }
}

async function yamlOf(bytes: Buffer, readLarge?: (text: string) => Promise<YamlResult>): Promise<DecodedBody> {
  const { decodeYaml } = await import('../../api/schema/decode-yaml.ts')
  return decodeYaml(bytes, readLarge)
}

/** Only built-in types have numbers for their fields. */
export const hasProtobuf = (kind: Kind) => builtinType(kind) !== undefined

const writableTypes = (kind: Kind) => [JSON_TYPE, YAML_TYPE, ...(hasProtobuf(kind) ? [PROTOBUF_TYPE] : [])]

/** Some doors take another kind than the one behind them: scales, evictions, tokens. */
function kindOfBody(kind: Kind, info: ResourceInfo): { apiVersion: string; kind: string } {
  const door = kind.subresources[info.subresource]
  if (door?.type === 'scale') return { apiVersion: 'autoscaling/v1', kind: 'Scale' }
  const { group, version, kind: name } = door?.type === 'action' ? door : kind
  return { apiVersion: apiVersionOf({ group, version }), kind: name }
}
