import type { CustomResourceDefinition } from '../../api/generated/apiextensions-v1.ts'
import { invalidObject } from '../../api/meta/api-error.ts'
import { MAX_ERRORS } from '../../api/meta/error-limit.ts'
import type { FieldError } from '../../api/meta/field-error.ts'
import { FieldPath } from '../../api/meta/field-path.ts'
import type { AdmissionPlugin } from '../admission/plugin.ts'
import { DEFINITIONS } from './definitions.ts'
import type { EngineLoader } from './engines.ts'
import { checkSchema } from './schema-checks.ts'

const VERSIONS = FieldPath.root('spec').child('versions')

/**
 * What can only be said of a definition with the engines at hand: patterns and rules compile, defaults keep to their
 * own schema, paths lead somewhere. Runs before the definition is stored, so its engines are loaded when it is.
 */
export function definitionChecks(engines: EngineLoader): AdmissionPlugin {
  return {
    name: 'CustomResourceDefinitionChecks',
    resources: [`${DEFINITIONS.plural}.${DEFINITIONS.group}`],
    async validate({ kind, subresource, draft, old, name }) {
      if (kind.plural !== DEFINITIONS.plural || kind.group !== DEFINITIONS.group || !draft) return
      const definition = draft as unknown as CustomResourceDefinition
      if (subresource !== '' || isSpecUnchanged(definition, old as CustomResourceDefinition | undefined)) return
      const loaded = await engines.load(Buffer.from(JSON.stringify(definition.spec)))
      const errors: FieldError[] = []
      for (const [i, version] of definition.spec.versions.entries()) {
        const before = (old as CustomResourceDefinition | undefined)?.spec.versions.find((v) => v.name === version.name)
        errors.push(...(await checkSchema(version, before, VERSIONS.index(i), loaded)))
        if (errors.length > MAX_ERRORS) break
      }
      if (errors.length > 0) throw invalidObject(kind, name, errors.slice(0, MAX_ERRORS))
    },
  }
}

const isSpecUnchanged = (definition: CustomResourceDefinition, old: CustomResourceDefinition | undefined) =>
  old !== undefined && old.metadata.generation === definition.metadata.generation
