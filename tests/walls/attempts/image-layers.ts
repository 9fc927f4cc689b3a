/** Layers that write, link or delete outside of their own folder when they are unpacked. */
import { type TestEntry, testTar } from '../../../src/container-runtime/images/unpack/tar-entries.contract.ts'
import { type ContainerAttempt, thinned } from '../attempt.ts'
import type { Goal } from '../canaries.ts'
import { shell } from '../cells.ts'

const UP = '../../../../../../../../../../../..'
const file = (name: string, more: Partial<TestEntry> = {}): TestEntry => ({
  name,
  data: 'escaped\n',
  uid: 0,
  gid: 0,
  ...more,
})
const folder = (name: string, more: Partial<TestEntry> = {}): TestEntry => ({
  name,
  type: '5',
  mode: 0o755,
  uid: 0,
  gid: 0,
  ...more,
})
const link = (name: string, to: string): TestEntry => ({ name, type: '2', link: to, uid: 0, gid: 0 })
const hardLink = (name: string, to: string): TestEntry => ({ name, type: '1', link: to, uid: 0, gid: 0 })
const fifo = (name: string): TestEntry => ({ name, type: '6', uid: 0, gid: 0 })

/** Layers, the lowest first. */
const TRICKS: Readonly<Record<string, (goal: Goal) => TestEntry[][]>> = {
  'an absolute name': ({ folder: to }) => [[file(`${to}/absolute`)]],
  'a name that goes up': ({ folder: to }) => [[file(`${UP}${to}/up`)]],
  'a name of a pax header that goes up': ({ folder: to }) => [[file('x', { pax: { path: `${UP}${to}/pax` } })]],
  'a file behind a link': ({ folder: to }) => [[link('a', to), file('a/behind-link')]],
  'a file behind a relative link': ({ folder: to }) => [[link('a', `${UP}${to}`), file('a/behind-relative')]],
  'a file behind a link of a lower layer': ({ folder: to }) => [[link('a', to)], [file('a/behind-lower')]],
  'a file behind a link in a link': ({ folder: to }) => [
    [folder('d'), link('d/l', to), link('a', 'd/l')],
    [file('a/twice')],
  ],
  'a folder that becomes a link': ({ folder: to }) => [[folder('a'), link('a', to), file('a/swapped')]],
  'a folder whose time is set after it became a link': ({ folder: to }) => [
    [folder('a', { mode: 0o700, mtime: 1 }), file('a/f'), link('a', to)],
  ],
  'a folder of a lower layer that became a link': ({ folder: to }) => [
    [link('a', to)],
    [folder('a/', { mode: 0o711, mtime: 7 })],
  ],
  'a folder in a linked folder': ({ folder: to }) => [[link('a', to)], [folder('a/empty', { mode: 0o700, uid: 7 })]],
  'a file over a link to a file': ({ folder: to }) => [[link('f', `${to}/writable`), file('f')]],
  'a file over a link of a lower layer': ({ folder: to }) => [[link('f', `${to}/writable`)], [file('f')]],
  'a file over a hard link of a link': ({ folder: to }) => [
    [link('l', `${to}/writable`), hardLink('h', 'l'), file('h')],
  ],
  'a hard link to the secret': ({ secretFile }) => [[hardLink('leak', secretFile)]],
  'a hard link that goes up': ({ secretFile }) => [[hardLink('leak', `${UP}${secretFile}`)]],
  'a hard link through a link': ({ folder: to }) => [[link('a', to), hardLink('leak', 'a/secret')]],
  'a hard link to a link, opened': ({ secretFile }) => [[link('l', secretFile), hardLink('leak', 'l')]],
  'a hard link of a pax header': ({ secretFile }) => [
    [{ ...hardLink('leak', 'x'), pax: { linkpath: `${UP}${secretFile}` } }],
  ],
  'a whiteout behind a link': ({ folder: to }) => [[link('a', to)], [file('a/.wh.secret')]],
  'a whiteout of what is above': () => [[file('.wh...')], [file('d/.wh...')]],
  'a whiteout of itself': () => [[folder('d')], [file('d/.wh..')]],
  'an opaque folder that is a link': ({ folder: to }) => [[link('a', to)], [file('a/.wh..wh..opq')]],
  'a whiteout with a slash': ({ folder: to }) => [[file(`.wh.${UP}${to}/secret`)]],
  'attributes through a link': ({ folder: to }) => [
    [{ ...link('a', `${to}/writable`), mode: 0o777, mtime: 5, pax: { 'SCHILY.xattr.user.walls': 'escaped' } }],
  ],
  'a fifo in the place of a folder': () => [[fifo('d')], [file('d/f')]],
  'a fifo in the place of a file': () => [[fifo('f')], [file('f')]],
  'a fifo behind a link': ({ folder: to }) => [[link('a', to)], [fifo('a/fifo')]],
  'a device behind a link': ({ folder: to }) => [
    [link('a', to)],
    [{ ...file('a/device'), type: '3', major: 1, minor: 3 }],
  ],
  'the root folder as a link': ({ folder: to }) => [[link('.', to), link('./', to), file('root-link')]],
  'a name with a line break and one with a null byte': ({ folder: to }) => [
    [file('x\ny'), file('z', { pax: { path: `ok\0${UP}${to}/null` } })],
  ],
}

/** What the container finds of it. */
const LOOK = shell('cat /leak /a/secret /d/secret /f 2>/dev/null | grep canary; ls -la / >/dev/null; echo held')

const rows = Object.entries(TRICKS).map(
  ([what, layers]): ContainerAttempt => ({
    name: `a layer with ${what} changes nothing on the host`,
    idea: 'CVE-2018-8115, CVE-2020-15157 and others: unpacking as root',
    image: (goal) => ({ layers: layers(goal).map((entries) => ({ tar: testTar(entries) })), isMalformed: true }),
    container: () => ({ command: LOOK }),
  }),
)

export const imageLayers: readonly ContainerAttempt[] = thinned(8, rows)
