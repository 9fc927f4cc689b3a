import { RuntimeError } from '../runtime.ts'

export interface Identity {
  readonly uid: number
  readonly gid: number
  readonly groups: readonly number[]
  readonly home: string
}

export interface IdentityRequest {
  readonly runAsUser?: number
  readonly runAsUsername?: string
  readonly runAsGroup?: number
  readonly supplementalGroups: readonly number[]
  readonly supplementalGroupsPolicy: 'Merge' | 'Strict'
}

/** `USER` of the image: a name or number, and `:` with a group. */
export interface Passwd {
  readonly passwd: string
  readonly group: string
}

const isNumber = (text: string) => /^\d+$/.test(text)
const MAX_ID = 0x7fffffff

/** Who a container runs as, by the request, else by the image, with the names of the image's own files. */
export function identityOf(request: IdentityRequest, imageUser: string, files: Passwd): Identity {
  const [userOfImage = '', groupOfImage = ''] = imageUser.split(':')
  const given = request.runAsUser !== undefined ? String(request.runAsUser) : (request.runAsUsername ?? '')
  const user = given || userOfImage || '0'
  const entry = findUser(files.passwd, user)
  if (!entry && !isNumber(user)) {
    throw new RuntimeError('InvalidArgument', `unable to find user ${user}: no matching entries in passwd file`)
  }
  const uid = checkId(entry ? entry.uid : Number(user))
  const group = given ? '' : groupOfImage
  const gid = request.runAsGroup ?? (group ? groupId(files.group, group) : (entry?.gid ?? 0))
  return { uid, gid: checkId(gid), groups: groupsOf(request, files, entry?.name, gid), home: entry?.home ?? '/' }
}

function checkId(id: number): number {
  if (Number.isInteger(id) && id >= 0 && id <= MAX_ID) return id
  throw new RuntimeError('InvalidArgument', `uids and gids must be in range 0-${MAX_ID}`)
}

function groupsOf(request: IdentityRequest, files: Passwd, name: string | undefined, gid: number): number[] {
  const groups = new Set<number>([gid])
  if (name !== undefined && request.supplementalGroupsPolicy === 'Merge') {
    for (const [, , id = '', members = ''] of entries(files.group))
      if (isNumber(id) && members.split(',').includes(name)) groups.add(Number(id))
  }
  for (const id of request.supplementalGroups) groups.add(checkId(id))
  return [...groups]
}

function findUser(passwd: string, user: string) {
  for (const [name = '', , uid = '', gid = '', , home = ''] of entries(passwd)) {
    if ((name === user || uid === user) && isNumber(uid) && isNumber(gid))
      return { name, uid: Number(uid), gid: Number(gid), home: home || '/' }
  }
  return undefined
}

function groupId(group: string, wanted: string): number {
  for (const [name, , id = ''] of entries(group))
    if ((name === wanted || id === wanted) && isNumber(id)) return Number(id)
  if (isNumber(wanted)) return Number(wanted)
  throw new RuntimeError('InvalidArgument', `unable to find group ${wanted}: no matching entries in group file`)
}

function* entries(file: string): Iterable<string[]> {
  for (const line of file.split('\n')) {
    const text = line.trim()
    if (text && !text.startsWith('#')) yield text.split(':')
  }
}
