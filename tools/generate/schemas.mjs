import { INT_OR_STRING, JSON_PACKAGE, META_PACKAGE, QUANTITY, RAW_EXTENSION } from './group-versions.mjs'

const ANY = { preserveUnknownFields: true }
/** Either this object, or something that is no object: a boolean, a list. */
const SCHEMA_OR_OTHER = { ...ANY, anyOf: [{ $ref: `${JSON_PACKAGE}.JSONSchemaProps` }] }
const SPECIAL = {
  [QUANTITY]: { intOrString: true, format: 'quantity' },
  [INT_OR_STRING]: { intOrString: true, format: 'int-or-string' },
  [RAW_EXTENSION]: { type: 'object', ...ANY },
  [`${META_PACKAGE}.FieldsV1`]: { type: 'object', ...ANY, mapType: 'atomic' },
  [`${META_PACKAGE}.Patch`]: ANY,
  [`${META_PACKAGE}.Time`]: { type: 'string', format: 'date-time' },
  [`${META_PACKAGE}.MicroTime`]: { type: 'string', format: 'date-time-micro' },
  [`${JSON_PACKAGE}.JSON`]: ANY,
  [`${JSON_PACKAGE}.CustomResourceSubresourceStatus`]: { type: 'object', ...ANY },
  [`${JSON_PACKAGE}.JSONSchemaPropsOrArray`]: SCHEMA_OR_OTHER,
  [`${JSON_PACKAGE}.JSONSchemaPropsOrBool`]: SCHEMA_OR_OTHER,
  [`${JSON_PACKAGE}.JSONSchemaPropsOrStringArray`]: SCHEMA_OR_OTHER,
}

/** The structural schemas as one TypeScript module of JSON texts, so that only what is used gets parsed. */
export function renderSchemas(definitions) {
  const lines = Object.entries(definitions).map(([name, definition]) => {
    const text = JSON.stringify(SPECIAL[name] ?? structural(definition))
    return `  ${JSON.stringify(name)}: ${singleQuoted(text)},\n`
  })
  return `export const SCHEMA_TEXTS: Readonly<Record<string, string>> = {\n${lines.join('')}}\n`
}

const singleQuoted = (text) => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`

const RENAMED = {
  'x-kubernetes-list-type': 'listType',
  'x-kubernetes-list-map-keys': 'listMapKeys',
  'x-kubernetes-map-type': 'mapType',
  'x-kubernetes-patch-merge-key': 'patchMergeKey',
}

function structural(node) {
  const schema = {}
  for (const [key, value] of Object.entries(node)) {
    if (RENAMED[key]) schema[RENAMED[key]] = value
    else if (key === 'x-kubernetes-patch-strategy') schema.patchStrategy = value.split(',')
    else if (key === '$ref') schema.$ref = value.slice('#/definitions/'.length)
    else if (key === 'properties') schema.properties = mapValues(value, structural)
    else if (key === 'items' || key === 'additionalProperties') schema[key] = structural(value)
    else if (['type', 'format', 'required', 'default', 'enum'].includes(key)) schema[key] = value
  }
  return schema
}

const mapValues = (object, change) => Object.fromEntries(Object.entries(object).map(([k, v]) => [k, change(v)]))
