import { parseFieldSelector, requiredFieldValue } from '../../../api/meta/field-selector.ts'
import type { UserInfo } from '../../identity.ts'
import {
  type AccessAttributes,
  type AccessDecision,
  type Authorizer,
  NO_OPINION,
  type ResourceAccess,
} from '../authorizer.ts'
import { type Grant, grantReason, type RoleIndex, subjectsOf } from './role-index.ts'
import { coversPath, coversResource } from './rule.ts'

/** What is known of one question, whatever the name of the object is. */
interface Verdict {
  /** For every name. */
  readonly always: AccessDecision | undefined
  readonly byName: ReadonlyMap<string, AccessDecision> | undefined
  readonly otherwise: AccessDecision
}

/** What was found out for somebody since roles or bindings last changed. */
interface Memory {
  readonly subjects: readonly string[]
  readonly verdicts: Map<string, Verdict>
  generation: number
}

/** More are forgotten: whoever asks for ever new paths or namespaces must not fill the memory. */
const MAX_VERDICTS = 4096
const MAX_MEMORIES = 4096

/** Allows what a rule of a role that is bound to the user, or to one of the groups, allows. Never denies. */
export class RbacAuthorizer implements Authorizer {
  readonly #index: RoleIndex
  readonly #byUser = new WeakMap<UserInfo, Memory>()
  /** Users that are made anew for each request (by impersonation) are the same by their names. */
  readonly #byName = new Map<string, Memory>()

  constructor(index: RoleIndex) {
    this.#index = index
  }

  decide(user: UserInfo, attributes: AccessAttributes): AccessDecision {
    const memory = this.#memoryOf(user)
    const { verb, resource } = attributes
    if (!resource) {
      const path = attributes.path ?? ''
      const key = `${verb} ${path}`
      return verdictFor(
        memory.verdicts.get(key) ?? this.#remember(memory, key, this.#judgePath(memory, verb, path)),
        '',
      )
    }
    const { group, resource: plural, subresource, namespace } = resource
    const key = `${verb} ${group}/${plural}/${subresource} ${namespace}`
    const verdict = memory.verdicts.get(key) ?? this.#remember(memory, key, this.#judge(memory, verb, resource))
    return verdict.byName === undefined ? verdictFor(verdict, '') : verdictFor(verdict, nameOf(resource, attributes))
  }

  #memoryOf(user: UserInfo): Memory {
    let memory = this.#byUser.get(user)
    if (!memory) {
      const subjects = subjectsOf(user)
      const name = JSON.stringify(subjects)
      memory = this.#byName.get(name)
      if (!memory) {
        memory = { subjects, verdicts: new Map(), generation: this.#index.generation }
        if (this.#byName.size >= MAX_MEMORIES) this.#byName.clear()
        this.#byName.set(name, memory)
      }
      this.#byUser.set(user, memory)
    }
    if (memory.generation !== this.#index.generation) {
      memory.verdicts.clear()
      memory.generation = this.#index.generation
    }
    return memory
  }

  #remember(memory: Memory, key: string, verdict: Verdict): Verdict {
    if (memory.verdicts.size >= MAX_VERDICTS) memory.verdicts.clear()
    memory.verdicts.set(key, verdict)
    return verdict
  }

  #judge({ subjects }: Memory, verb: string, { group, resource, subresource, namespace }: ResourceAccess): Verdict {
    const full = subresource ? `${resource}/${subresource}` : resource
    let always: AccessDecision | undefined
    let byName: Map<string, AccessDecision> | undefined
    const missing = new MissingRoles()
    this.#index.visit(
      subjects,
      namespace,
      (rule, grant, subject) => {
        if (!coversResource(rule, verb, group, full, subresource)) return true
        const decision = { allowed: true, reason: grantReason(grant, subject) }
        if (rule.names.size === 0) {
          always = decision
          return false
        }
        byName ??= new Map()
        for (const name of rule.names) if (!byName.has(name)) byName.set(name, decision)
        return true
      },
      missing.add,
    )
    return { always, byName: always ? undefined : byName, otherwise: missing.decision() }
  }

  #judgePath({ subjects }: Memory, verb: string, path: string): Verdict {
    let always: AccessDecision | undefined
    const missing = new MissingRoles()
    this.#index.visit(
      subjects,
      '',
      (rule, grant, subject) => {
        if (!coversPath(rule, verb, path)) return true
        always = { allowed: true, reason: grantReason(grant, subject) }
        return false
      },
      missing.add,
    )
    return { always, byName: undefined, otherwise: missing.decision() }
  }
}

const verdictFor = ({ always, byName, otherwise }: Verdict, name: string): AccessDecision =>
  always ?? (name === '' ? otherwise : (byName?.get(name) ?? otherwise))

/** Bound roles that do not exist: whoever is refused is told. */
class MissingRoles {
  readonly #told = new Set<string>()

  readonly add = ({ roleKind, roleName }: Grant) => {
    const name = JSON.stringify(roleName)
    this.#told.add(`${roleKind.toLowerCase()}.rbac.authorization.k8s.io ${name} not found`)
  }

  decision(): AccessDecision {
    const told = [...this.#told]
    if (told.length === 0) return NO_OPINION
    return { allowed: false, reason: `RBAC: ${told.length === 1 ? told[0] : `[${told.join(', ')}]`}` }
  }
}

/** A list of `metadata.name=x` is about the object x. */
export function nameOf({ name }: ResourceAccess, { verb, selectors }: AccessAttributes): string {
  if (name !== '' || !selectors || (verb !== 'list' && verb !== 'watch' && verb !== 'deletecollection')) return name
  const text = selectors.get('fieldSelector')
  if (!text.includes('metadata.name')) return name
  try {
    return requiredFieldValue(parseFieldSelector(text), 'metadata.name') ?? ''
  } catch {
    return ''
  }
}
