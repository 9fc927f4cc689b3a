import { badRequest } from '../meta/api-error.ts'
import { type DecodedBody, decodeText, MAX_WEIGHT } from './decode.ts'
import { MAX_PROBLEMS } from './json-reader.ts'
import { weightOf } from './json-scan.ts'
import { type YamlLimits, YamlReader, type YamlResult } from './yaml-reader.ts'

export const YAML_LIMITS: YamlLimits = {
  nesting: 200,
  lexemes: 10 * MAX_WEIGHT,
  aliases: 1000,
  expandedAliases: 100,
  depth: 1000,
  weight: MAX_WEIGHT,
  characters: 3 * 1024 * 1024,
  duplicates: MAX_PROBLEMS,
}

/** Reading more than this takes long: about a millisecond for each kilobyte. */
const LARGE_CHARACTERS = 16 * 1024

/** A YAML body. One that is large is read by `readLarge`, which does it elsewhere. Loads the parser on first use. */
export async function decodeYaml(
  body: string | Buffer,
  readLarge: (text: string) => Promise<YamlResult> = read,
): Promise<DecodedBody> {
  const text = typeof body === 'string' ? body : decodeText(body)
  if (text === undefined) throw yamlError('control characters are not allowed')
  const result = await (text.length > LARGE_CHARACTERS ? readLarge(text) : read(text))
  if ('problem' in result) throw yamlError(result.problem, result.line)
  const { json, duplicates } = result
  return {
    value: JSON.parse(json),
    keys: -1,
    duplicates: duplicates.length === 0 ? [] : [`yaml: unmarshal errors:\n${duplicates.join('\n')}`],
    text,
  }
}

async function read(text: string): Promise<YamlResult> {
  return new YamlReader(await import('yaml'), YAML_LIMITS, weightOf).read(text)
}

const yamlError = (message: string, line?: number) =>
  badRequest(`error converting YAML to JSON: yaml: ${line === undefined ? '' : `line ${line}: `}${message}`)
