import type {
  CustomResourceDefinition,
  CustomResourceDefinitionVersion,
  JSONSchemaProps,
} from '../../api/generated/apiextensions-v1.ts'
import {
  ALL_VERBS,
  defineKind,
  type FieldReader,
  type Kind,
  type StatusSubresource,
  type Subresource,
} from '../../api/kind.ts'
import type { KubernetesObject } from '../../api/meta/object.ts'
import { keepField } from '../../api/strategy.ts'
import { deepEqual } from '../../base/deep-equal.ts'
import { columnsOf } from './columns.ts'
import { findAll, parseJsonPath } from './json-path.ts'
import { type CustomRules, customRules, type RuleEngines } from './rules.ts'
import { scaleOf } from './scale.ts'
import { type CustomSchemas, customSchemas } from './structural-schema.ts'

type Names = CustomResourceDefinition['spec']['names']

/** What a version of a custom resource is made from. */
export interface CustomKindSource {
  readonly definition: CustomResourceDefinition
  readonly version: CustomResourceDefinitionVersion
  /** The schema as its author wrote it; read again when needed, since it is large and rarely looked at. */
  readonly props: () => JSONSchemaProps
  readonly engines: RuleEngines
}

/** One version of a custom resource as a kind like any other. Its schemas are made when first used. */
export function customKind(source: CustomKindSource): Kind {
  const { definition, version } = source
  const { group, scope } = definition.spec
  const names: Names = { ...definition.spec.names, ...definition.status?.acceptedNames }
  const parts = new LazyParts(source)
  const hasStatus = version.subresources?.status !== undefined
  const base = defineKind<KubernetesObject>({
    group,
    version: version.name,
    kind: names.kind,
    plural: names.plural,
    singular: names.singular || names.kind.toLowerCase(),
    listKind: names.listKind || `${names.kind}List`,
    shortNames: names.shortNames ?? [],
    categories: names.categories ?? [],
    namespaced: scope === 'Namespaced',
    // Nothing new may come while everything is being removed.
    verbs: definition.metadata.deletionTimestamp ? ALL_VERBS.filter((verb) => verb !== 'create') : ALL_VERBS,
    schema: NO_SCHEMA,
    isCustom: true,
    unconditionalUpdate: false,
    wholeUpdateValidation: true,
    columns: columnsOf(version.additionalPrinterColumns),
    selectableFields: selectableFields(version),
    subresources: subresources(version, parts),
    prepareCreate(draft) {
      if (hasStatus) deleteStatus(draft)
      draft.metadata.generation = 1
    },
    prepareUpdate: (draft, old) => prepareUpdate(draft, old, hasStatus),
    validate: (object) => parts.rules.validate(object, undefined),
    validateUpdate: (object, old) => parts.rules.validate(object, old),
    ...(version.deprecated && { deprecationWarning: deprecationWarning(group, version, names.kind) }),
  })
  return Object.defineProperty(base, 'schema', { enumerable: true, get: () => parts.schemas.shape })
}

const NO_SCHEMA = {}

class LazyParts {
  readonly #source: CustomKindSource
  #schemas: CustomSchemas | undefined
  #rules: CustomRules | undefined

  constructor(source: CustomKindSource) {
    this.#source = source
  }

  get schemas(): CustomSchemas {
    this.#schemas ??= customSchemas(this.#source.props())
    return this.#schemas
  }

  get rules(): CustomRules {
    this.#rules ??= customRules(this.schemas.rules, this.#source.props, this.#source.engines)
    return this.#rules
  }
}

function subresources(version: CustomResourceDefinitionVersion, parts: LazyParts): Record<string, Subresource> {
  const { status, scale } = version.subresources ?? {}
  return { ...(status !== undefined && { status: statusDoor(parts) }), ...(scale && { scale: scaleOf(scale) }) }
}

type Fields = Record<string, unknown>

/** Through this door only the status changes. */
const statusDoor = (parts: LazyParts): StatusSubresource => ({
  type: 'part',
  verbs: ['get', 'patch', 'update'],
  prepareUpdate(draft, old) {
    for (const field of new Set([...Object.keys(old), ...Object.keys(draft)]))
      if (field !== 'status' && field !== 'metadata') keepField(draft, old, field)
    const { managedFields, resourceVersion } = draft.metadata
    draft.metadata = { ...old.metadata }
    if (managedFields) draft.metadata.managedFields = managedFields
    if (resourceVersion) draft.metadata.resourceVersion = resourceVersion
  },
  validateUpdate: (object, old) => parts.rules.validate(object, old),
})

function deleteStatus(draft: KubernetesObject): void {
  delete (draft as unknown as Fields).status
}

/** The generation grows with everything but metadata, and but the status where that has a door of its own. */
function prepareUpdate(draft: KubernetesObject, old: KubernetesObject, hasStatus: boolean): void {
  if (hasStatus) keepField(draft, old, 'status')
  const fields = new Set([...Object.keys(draft), ...Object.keys(old)])
  for (const field of ['metadata', 'apiVersion', 'kind']) fields.delete(field)
  const isSame = [...fields].every((field) =>
    deepEqual((draft as unknown as Fields)[field], (old as unknown as Fields)[field]),
  )
  const generation = old.metadata.generation ?? 0
  draft.metadata.generation = isSame ? generation : generation + 1
}

function selectableFields(version: CustomResourceDefinitionVersion): Record<string, FieldReader<KubernetesObject>> {
  const fields: Record<string, FieldReader<KubernetesObject>> = {}
  for (const { jsonPath } of version.selectableFields ?? []) {
    const path = parseJsonPath(jsonPath)
    fields[jsonPath.replace(/^\./, '')] = (object) => {
      const [value] = findAll(path, object)
      return value === undefined || value === null || typeof value === 'object' ? '' : String(value)
    }
  }
  return fields
}

const deprecationWarning = (group: string, version: CustomResourceDefinitionVersion, kind: string) =>
  version.deprecationWarning ?? `${group}/${version.name} ${kind} is deprecated`
