import { expect, test } from 'vitest'
import { type IdentityRequest, identityOf } from './identity.ts'

const FILES = {
  passwd:
    'root:x:0:0:root:/root:/bin/sh\n# comment\n\napp:x:1000:1001::/srv/app:/bin/sh\nbroken:x:abc:1:\n12:x:5000:5000::/:\n',
  group: 'root:x:0:\nstaff:x:50:app,other\nwheel:x:10:root,app\nbad:x:zz:app\n',
}
const request = (changes: Partial<IdentityRequest> = {}): IdentityRequest => ({
  supplementalGroups: [],
  supplementalGroupsPolicy: 'Merge',
  ...changes,
})

test.each<[string, Partial<IdentityRequest>, string, object]>([
  ['nothing said: root, with the groups of root', {}, '', { uid: 0, gid: 0, groups: [0, 10], home: '/root' }],
  ['the image by name', {}, 'app', { uid: 1000, gid: 1001, groups: [1001, 50, 10], home: '/srv/app' }],
  ['the image by number', {}, '1000', { uid: 1000, gid: 1001, groups: [1001, 50, 10] }],
  ['the image with a group', {}, 'app:staff', { uid: 1000, gid: 50, groups: [50, 10] }],
  ['a number nobody has', {}, '4711:815', { uid: 4711, gid: 815, groups: [815], home: '/' }],
  ['the pod before the image', { runAsUser: 0 }, 'app:staff', { uid: 0, gid: 0 }],
  ['a group of the pod', { runAsUser: 1000, runAsGroup: 7 }, '', { uid: 1000, gid: 7, groups: [7, 50, 10] }],
  ['more groups', { runAsUser: 5, supplementalGroups: [8, 9] }, '', { uid: 5, gid: 0, groups: [0, 8, 9] }],
  [
    'strict groups',
    { runAsUser: 1000, supplementalGroups: [8], supplementalGroupsPolicy: 'Strict' },
    '',
    { groups: [1001, 8] },
  ],
  ['a name that looks like a number', { runAsUser: 12 }, '', { uid: 5000 }],
])('%s', (_name, changes, imageUser, expected) => {
  expect(identityOf(request(changes), imageUser, FILES)).toMatchObject(expected)
})

test.each<[string, Partial<IdentityRequest>, string, string]>([
  ['an unknown user', {}, 'ghost', 'unable to find user ghost: no matching entries in passwd file'],
  ['a user without a number', {}, 'broken', 'unable to find user broken'],
  ['an unknown group', {}, 'app:ghosts', 'unable to find group ghosts: no matching entries in group file'],
  ['a number too large', {}, '4294967296', 'must be in range'],
])('%s is refused', (_name, changes, imageUser, message) => {
  expect(() => identityOf(request(changes), imageUser, FILES)).toThrow(message)
})
