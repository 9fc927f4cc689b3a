import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { GROUP_VERSIONS, INT_OR_STRING, META_PACKAGE } from './group-versions.mjs'
import { FIELD_ANNOTATIONS, FIELD_DEFAULTS, FIELD_TYPES, TYPE_ANNOTATIONS } from './overlay.mjs'

/**
 * Merges the two sources into the definitions of an OpenAPI v2 document: the v1.36 models decide which types, fields
 * and required lists exist; the v1.30 document gives x-kubernetes-* annotations, formats and line breaks.
 */
export function mergeDefinitions(models, swagger, clientDirectory) {
  const names = nameModels(models, swagger, clientDirectory)
  const definitions = {}
  for (const [name, definition] of Object.entries(swagger.definitions)) {
    if (isScalar(definition) && isServed(name)) definitions[name] = definition
  }
  for (const [model, name] of names) {
    definitions[name] = mergeDefinition(name, models.get(model), swagger.definitions[name], names)
  }
  checkOverlay(definitions)
  return sorted(definitions)
}

/** An overlay row for a field that no longer exists would be lost in silence. */
function checkOverlay(definitions) {
  const defaults = Object.entries(FIELD_DEFAULTS).flatMap(([type, fields]) =>
    Object.keys(fields).map((f) => `${type}.${f}`),
  )
  for (const row of [...Object.keys(FIELD_ANNOTATIONS), ...Object.keys(FIELD_TYPES), ...defaults]) {
    const [type, field] = [packageOf(row), row.slice(row.lastIndexOf('.') + 1)]
    if (!definitions[`io.k8s.api.${type}`]?.properties[field]) throw new Error(`overlay.mjs: there is no field ${row}`)
  }
  for (const type of Object.keys(TYPE_ANNOTATIONS)) {
    if (!definitions[`io.k8s.api.${type}`]) throw new Error(`overlay.mjs: there is no type ${type}`)
  }
}

const isScalar = (definition) => definition.properties === undefined
const packageOf = (definition) => definition.slice(0, definition.lastIndexOf('.'))
const PACKAGES = new Set(GROUP_VERSIONS.map((gv) => gv.package))
const isServed = (name) => PACKAGES.has(packageOf(name)) || name.startsWith('io.k8s.apimachinery.')
const sorted = (object) => Object.fromEntries(Object.entries(object).sort(([a], [b]) => (a < b ? -1 : 1)))

/** Model name -> definition name. A type new since v1.30 belongs to the group whose API or types use it. */
function nameModels(models, swagger, clientDirectory) {
  const known = new Map()
  for (const name of Object.keys(swagger.definitions)) {
    if (!isServed(name)) continue
    const [version, type] = name.split('.').slice(-2)
    known.set(version === 'version' ? 'VersionInfo' : `${version.toUpperCase()}${type}`, name)
  }
  const names = new Map()
  const assign = (model, packageName) => {
    if (!models.has(model) || names.has(model) || model.includes('alpha') || model.includes('beta')) return
    const prefixed = GROUP_VERSIONS.find((gv) => model.startsWith(`${gv.prefix}${gv.version.toUpperCase()}`))
    const type = model.replace(/^.*?V\d+/, '')
    const name = prefixed ? `${prefixed.package}.${type}` : (known.get(model) ?? `${packageName}.${type}`)
    names.set(model, name)
    for (const field of models.get(model).fields) {
      for (const used of field.type.match(/\w*V\d\w+/g) ?? []) assign(used, packageOf(name))
    }
  }
  for (const model of known.keys()) assign(model, '')
  for (const gv of GROUP_VERSIONS) for (const model of modelsOfApi(gv, clientDirectory)) assign(model, gv.package)
  return names
}

/** The models an API class reads and writes. */
function modelsOfApi(gv, clientDirectory) {
  const source = readFileSync(join(clientDirectory, 'dist/gen/apis', `${gv.api}Api.js`), 'utf8')
  return new Set([...source.matchAll(/"((?:[A-Z][a-z]+)?V\d\w+)"/g)].map((match) => match[1]))
}

function mergeDefinition(name, model, old, names) {
  const key = name.replace('io.k8s.api.', '')
  const required = model.fields.filter((field) => field.required).map((field) => field.name)
  const properties = {}
  for (const field of model.fields) {
    const value = FIELD_DEFAULTS[key]?.[field.name]
    properties[field.name] = mergeField(`${key}.${field.name}`, field, old?.properties?.[field.name], names)
    if (value !== undefined) properties[field.name].default = value
  }
  return {
    description: preferOld(model.description, old?.description),
    type: 'object',
    properties: sorted(properties),
    ...(required.length > 0 && { required }),
    ...annotations(old),
    ...TYPE_ANNOTATIONS[key],
    ...groupVersionKinds(name, model, old),
  }
}

function mergeField(key, field, old, names) {
  const { description: oldDescription, ...rest } = old ?? {}
  const description = preferOld(field.description, oldDescription)
  return {
    ...(description && { description }),
    ...(old ? rest : (FIELD_TYPES[key] ?? typeOf(field.type, field.format, names))),
    ...FIELD_ANNOTATIONS[key],
  }
}

const annotations = (old) =>
  Object.fromEntries(Object.entries(old ?? {}).filter(([key]) => key.startsWith('x-kubernetes-')))

const flat = (text) => text.replaceAll(/\s+/g, ' ').trim()

/** The models lost line breaks, and what was said beside a reference: where only these differ, the old text stands. */
const preferOld = (text, old) => (old !== undefined && (text === '' || flat(old) === flat(text)) ? old : text)

/** The JSON type of a model's TypeScript type. */
function typeOf(type, format, names) {
  const list = /^Array<(.*)>$/.exec(type)
  if (list) return { type: 'array', items: typeOf(list[1], format, names) }
  const map = /^\{ \[key: string\]: (.*); \}$/.exec(type)
  if (map) return { type: 'object', additionalProperties: typeOf(map[1], format, names) }
  if (type === 'number') return { type: format === 'double' ? 'number' : 'integer', ...(format && { format }) }
  if (type === 'string' || type === 'boolean') return { type, ...(format && { format }) }
  const definition = REFERENCES[type] ?? names.get(type)
  if (definition === undefined) throw new Error(`no JSON type for the model type ${type}`)
  return { $ref: `#/definitions/${definition}` }
}

const REFERENCES = {
  Date: `${META_PACKAGE}.Time`,
  V1MicroTime: `${META_PACKAGE}.MicroTime`,
  IntOrString: INT_OR_STRING,
}

const SERVED = new Set(GROUP_VERSIONS.map((gv) => `${gv.group}/${gv.version}`))

/** Which kinds a type stands for: as the old document says, or its own if it is a kind or a list that is new. */
function groupVersionKinds(name, model, old) {
  const key = 'x-kubernetes-group-version-kind'
  if (old) return old[key] && { [key]: old[key].filter((gvk) => SERVED.has(`${gvk.group}/${gvk.version}`)) }
  const gv = GROUP_VERSIONS.find((one) => one.package === packageOf(name))
  const fields = new Set(model.fields.map((field) => field.name))
  if (!gv || !fields.has('kind') || !fields.has('apiVersion') || !fields.has('metadata')) return undefined
  return { [key]: [{ group: gv.group, kind: name.slice(gv.package.length + 1), version: gv.version }] }
}
