import { builtinType, type Kind, type Subresource, type Verb } from '../api/kind.ts'

export interface GroupVersionKind {
  readonly group: string
  readonly version: string
  readonly kind: string
}

export type Method = 'get' | 'put' | 'post' | 'delete' | 'patch'

/** One operation of the API, before v2 or v3 gave it a form. */
export interface Operation {
  readonly path: string
  readonly method: Method
  readonly id: string
  readonly tag: string
  /** `x-kubernetes-action` */
  readonly action: string
  readonly description: string
  /** Undefined for the one operation that is about no kind. */
  readonly gvk: GroupVersionKind | undefined
  readonly query: readonly string[]
  /** A subresource such as `pods/log` whose own query parameters are added. */
  readonly connect?: string
  readonly body?: 'object' | 'patch' | 'delete-options'
  readonly answer: 'object' | 'list' | 'status' | 'text' | 'resources'
  readonly listKind: string
  /** Custom resources know no strategic merge patch. */
  readonly strategicMerge: boolean
}

const LIST = [
  'allowWatchBookmarks',
  'continue',
  'fieldSelector',
  'labelSelector',
  'limit',
  'resourceVersion',
  'resourceVersionMatch',
  'sendInitialEvents',
  'timeoutSeconds',
  'watch',
]
const WRITE = ['dryRun', 'fieldManager', 'fieldValidation']
const DELETE = ['dryRun', 'gracePeriodSeconds', 'orphanDependents', 'propagationPolicy']
const DELETE_COLLECTION = [
  'continue',
  'dryRun',
  'fieldSelector',
  'gracePeriodSeconds',
  'labelSelector',
  'limit',
  'orphanDependents',
  'propagationPolicy',
  'resourceVersion',
  'resourceVersionMatch',
  'sendInitialEvents',
  'timeoutSeconds',
]

interface Form {
  readonly method: Method
  readonly action: string
  /** The first word of the operation's id. */
  readonly word: string
  readonly describe: (kind: string) => string
  readonly query: readonly string[]
  readonly body?: Operation['body']
  readonly answer: Operation['answer']
}

const FORMS: Readonly<Record<Exclude<Verb, 'watch'>, Form>> = {
  list: {
    method: 'get',
    action: 'list',
    word: 'list',
    describe: (k) => `list or watch objects of kind ${k}`,
    query: LIST,
    answer: 'list',
  },
  create: {
    method: 'post',
    action: 'post',
    word: 'create',
    describe: (k) => `create ${article(k)}${k}`,
    query: WRITE,
    body: 'object',
    answer: 'object',
  },
  deletecollection: {
    method: 'delete',
    action: 'deletecollection',
    word: 'delete',
    describe: (k) => `delete collection of ${k}`,
    query: DELETE_COLLECTION,
    body: 'delete-options',
    answer: 'status',
  },
  get: {
    method: 'get',
    action: 'get',
    word: 'read',
    describe: (k) => `read the specified ${k}`,
    query: [],
    answer: 'object',
  },
  update: {
    method: 'put',
    action: 'put',
    word: 'replace',
    describe: (k) => `replace the specified ${k}`,
    query: WRITE,
    body: 'object',
    answer: 'object',
  },
  patch: {
    method: 'patch',
    action: 'patch',
    word: 'patch',
    describe: (k) => `partially update the specified ${k}`,
    query: [...WRITE, 'force'],
    body: 'patch',
    answer: 'object',
  },
  delete: {
    method: 'delete',
    action: 'delete',
    word: 'delete',
    describe: (k) => `delete ${article(k)}${k}`,
    query: DELETE,
    body: 'delete-options',
    answer: 'status',
  },
}

const COLLECTION_VERBS = ['list', 'create', 'deletecollection'] as const
const OBJECT_VERBS = ['get', 'update', 'patch', 'delete'] as const

/** Every operation on a kind and its subresources. */
export function operationsOf(kind: Kind): Operation[] {
  const scope = kind.namespaced ? 'Namespaced' : ''
  const root = rootPath(kind)
  const collection = `${root}${kind.namespaced ? '/namespaces/{namespace}' : ''}/${kind.plural}`
  const operations: Operation[] = []
  for (const verb of COLLECTION_VERBS) {
    const middle = verb === 'deletecollection' ? `Collection${scope}` : scope
    if (kind.verbs.includes(verb)) operations.push(operation(kind, FORMS[verb], collection, `${middle}${kind.kind}`))
  }
  if (kind.namespaced && kind.verbs.includes('list')) {
    operations.push(operation(kind, FORMS.list, `${root}/${kind.plural}`, `${kind.kind}ForAllNamespaces`))
  }
  for (const verb of OBJECT_VERBS) {
    if (kind.verbs.includes(verb))
      operations.push(operation(kind, FORMS[verb], `${collection}/{name}`, `${scope}${kind.kind}`))
  }
  for (const [name, subresource] of Object.entries(kind.subresources)) {
    operations.push(...subresourceOperations(kind, name, subresource, `${collection}/{name}/${name}`, scope))
  }
  return operations
}

export const rootPath = (kind: { group: string; version: string }) =>
  kind.group === '' ? `/api/${kind.version}` : `/apis/${kind.group}/${kind.version}`

function operation(kind: Kind, form: Form, path: string, idEnd: string, gvk: GroupVersionKind = kind): Operation {
  return {
    path,
    method: form.method,
    id: `${form.word}${idPrefix(kind)}${idEnd}`,
    tag: tagOf(kind),
    action: form.action,
    description: form.describe(kind.kind),
    gvk: { group: gvk.group, kind: gvk.kind, version: gvk.version },
    query: form.query,
    ...(form.body && { body: form.body }),
    answer: form.answer,
    listKind: kind.listKind,
    strategicMerge: builtinType(kind) !== undefined,
  }
}

const SCALE: GroupVersionKind = { group: 'autoscaling', version: 'v1', kind: 'Scale' }
const SCALE_VERBS: readonly Verb[] = ['get', 'update', 'patch']
const CONNECT = new Set(['exec', 'attach', 'portforward', 'proxy'])

function subresourceOperations(kind: Kind, name: string, sub: Subresource, path: string, scope: string): Operation[] {
  if (CONNECT.has(name)) return connectOperations(kind, name, sub, path, scope)
  const gvk = sub.type === 'scale' ? SCALE : sub.type === 'part' ? kind : sub
  const verbs = sub.type === 'scale' ? SCALE_VERBS : sub.verbs
  return verbs.flatMap((verb) => {
    if (verb === 'watch') return []
    const made = operation(kind, FORMS[verb], path, `${scope}${kind.kind}${capital(name)}`, gvk)
    const description = subresourceDescription(verb, name, kind.kind)
    if (name !== 'log') return { ...made, description }
    return { ...made, description, connect: `${kind.plural}/${name}`, answer: 'text' as const }
  })
}

function subresourceDescription(verb: Exclude<Verb, 'watch'>, name: string, kind: string): string {
  if (verb === 'create') return `create ${name} of ${article(kind)}${kind}`
  return `${verb === 'patch' ? 'partially update' : FORMS[verb].word} ${name} of the specified ${kind}`
}

const CONNECT_METHODS: readonly (readonly [Verb, Method])[] = [
  ['get', 'get'],
  ['create', 'post'],
  ['update', 'put'],
  ['patch', 'patch'],
  ['delete', 'delete'],
]

function connectOperations(kind: Kind, name: string, sub: Subresource, path: string, scope: string): Operation[] {
  if (sub.type !== 'action') return []
  const methods = CONNECT_METHODS.filter(([verb]) => sub.verbs.includes(verb))
  const places = name === 'proxy' ? ['', '/{path}'] : ['']
  const doors = places.flatMap((place) => methods.map(([, method]) => ({ place, method })))
  return doors.map(({ place, method }) => ({
    path: `${path}${place}`,
    method,
    id: `connect${idPrefix(kind)}${capital(method)}${scope}${kind.kind}${capital(name)}${place && 'WithPath'}`,
    tag: tagOf(kind),
    action: 'connect',
    description: `connect ${method.toUpperCase()} requests to ${name} of ${kind.kind}`,
    gvk: { group: sub.group, kind: sub.kind, version: sub.version },
    query: [],
    connect: `${kind.plural}/${name}`,
    answer: 'text',
    listKind: kind.listKind,
    strategicMerge: false,
  }))
}

/** The discovery document of a group version, which each document describes too. */
export function resourcesOperation(kind: Kind): Operation {
  return {
    path: `${rootPath(kind)}/`,
    method: 'get',
    id: `get${idPrefix(kind)}APIResources`,
    tag: tagOf(kind),
    action: '',
    description: 'get available resources',
    gvk: undefined,
    query: [],
    answer: 'resources',
    listKind: '',
    strategicMerge: false,
  }
}

const capital = (word: string) => word.charAt(0).toUpperCase() + word.slice(1)
/** Empty for what is plural already, such as Endpoints. */
const article = (word: string) => (/[^s]s$/.test(word) ? '' : /^[AEIOU]/.test(word) ? 'an ' : 'a ')

/** `rbac.authorization.k8s.io` -> `rbac`, `Authorization` */
const groupWords = (group: string) =>
  group === ''
    ? ['core']
    : group
        .replace(/\.k8s\.io$/, '')
        .split('.')
        .map((word, i) => (i === 0 ? word : capital(word)))

const tagOf = (kind: Kind) => `${groupWords(kind.group).join('')}_${kind.version}`
const idPrefix = (kind: Kind) => groupWords(kind.group).map(capital).join('') + capital(kind.version)
