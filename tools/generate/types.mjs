import {
  GROUP_VERSIONS,
  INT_OR_STRING,
  JSON_PACKAGE,
  META_PACKAGE,
  QUANTITY,
  RAW_EXTENSION,
} from './group-versions.mjs'

/** Types written by hand in `src/api/meta/object.ts`; the generated files import them from there. */
const HAND_WRITTEN = ['FieldsV1', 'ListMeta', 'ManagedFieldsEntry', 'ObjectMeta', 'OwnerReference']

const INLINE = {
  [QUANTITY]: 'string | number',
  [INT_OR_STRING]: 'string | number',
  [RAW_EXTENSION]: 'unknown',
  [`${META_PACKAGE}.Time`]: 'string',
  [`${META_PACKAGE}.MicroTime`]: 'string',
  [`${META_PACKAGE}.Patch`]: 'unknown',
  [`${JSON_PACKAGE}.JSON`]: 'unknown',
  [`${JSON_PACKAGE}.CustomResourceSubresourceStatus`]: 'unknown',
  [`${JSON_PACKAGE}.JSONSchemaPropsOrArray`]: 'JSONSchemaProps | JSONSchemaProps[]',
  [`${JSON_PACKAGE}.JSONSchemaPropsOrBool`]: 'JSONSchemaProps | boolean',
  [`${JSON_PACKAGE}.JSONSchemaPropsOrStringArray`]: 'JSONSchemaProps | string[]',
}

/** File name -> TypeScript text: one file of interfaces per group version, shaped as the JSON is. */
export function renderTypes(definitions) {
  const packages = [{ package: META_PACKAGE, file: 'meta-v1' }, ...GROUP_VERSIONS]
  return new Map(packages.map((gv) => [`${gv.file}.ts`, renderFile(gv, definitions)]))
}

function renderFile(gv, definitions) {
  const imports = new Map()
  const body = Object.keys(definitions)
    .filter((name) => packageOf(name) === gv.package && !INLINE[name] && !isHandWritten(name))
    .map((name) => renderInterface(name, definitions[name], (used) => nameIn(gv, used, imports)))
  const importLines = [...imports].sort().map(([file, types]) => {
    return `import type { ${[...types].sort().join(', ')} } from '${file}'\n`
  })
  return `${importLines.join('')}\n${body.join('\n')}`
}

const packageOf = (definition) => definition.slice(0, definition.lastIndexOf('.'))
const typeName = (definition) => definition.slice(definition.lastIndexOf('.') + 1)
const isHandWritten = (name) => packageOf(name) === META_PACKAGE && HAND_WRITTEN.includes(typeName(name))

/** How a file calls a definition, noting the import it needs. Names that clash carry their group. */
function nameIn(gv, definition, imports) {
  if (INLINE[definition]) return INLINE[definition]
  const name = typeName(definition)
  if (packageOf(definition) === gv.package && !isHandWritten(definition)) return name
  const file = isHandWritten(definition) ? '../meta/object.ts' : `./${fileOf(packageOf(definition))}.ts`
  if (!imports.has(file)) imports.set(file, new Set())
  imports.get(file).add(name)
  return name
}

const fileOf = (packageName) =>
  packageName === META_PACKAGE ? 'meta-v1' : GROUP_VERSIONS.find((gv) => gv.package === packageName).file

function renderInterface(name, definition, nameOf) {
  const isKind =
    definition['x-kubernetes-group-version-kind'] !== undefined &&
    definition.properties.metadata?.$ref?.endsWith('.ObjectMeta')
  const required = new Set(definition.required ?? [])
  if (isKind) required.add('metadata')
  const fields = Object.entries(definition.properties).map(([field, schema]) => {
    const key = /^[A-Za-z_]\w*$/.test(field) ? field : `'${field}'`
    return `  ${key}${required.has(field) ? '' : '?'}: ${render(schema, nameOf)}\n`
  })
  return `${docComment(definition.description)}export interface ${typeName(name)} {\n${fields.join('')}}\n`
}

/** The first sentence is enough in an editor; `kubectl explain` has the rest. */
function docComment(description) {
  const sentence = /^[\s\S]*?[.](?=\s|$)/.exec(description ?? '')?.[0] ?? description ?? ''
  const line = sentence.replaceAll(/\s+/g, ' ').replaceAll('*/', '* /').trim()
  return line === '' ? '' : `/** ${line} */\n`
}

function render(schema, nameOf) {
  if (schema.$ref) return nameOf(schema.$ref.slice('#/definitions/'.length))
  if (schema.type === 'array') return arrayOf(render(schema.items, nameOf))
  if (schema.type === 'object') {
    return schema.additionalProperties ? `Record<string, ${render(schema.additionalProperties, nameOf)}>` : 'unknown'
  }
  if (schema.type === 'integer' || schema.type === 'number') return 'number'
  return schema.type ?? 'unknown'
}

const arrayOf = (item) => (item.includes('|') ? `(${item})[]` : `${item}[]`)
