/** 1.1: files of the control plane. It is one process: its settings stand for the pod specifications of its parts. */
import { notApplicable } from '../control.ts'
import type { CisFacts } from '../facts.ts'
import { advised, modes, owners, scored } from './rows.ts'

const CHMOD = 'chmod go-rwx FILE'
const CHOWN = 'chown USER FILE, with the user that runs sampan'
const PARTS = [
  ['start of the API server', '1.1.1', '1.1.2'],
  ['start of controllers', '1.1.3', '1.1.4'],
  ['start of the scheduler', '1.1.5', '1.1.6'],
] as const

const withoutEtcd = (check: (facts: CisFacts) => ReturnType<typeof notApplicable>) => (facts: CisFacts) =>
  facts.etcd ? notApplicable('etcd runs elsewhere: its files are not on this machine') : check(facts)

const noEtcdPod = () => notApplicable('the store is part of the server: no etcd is started')

export const controlPlaneFiles = [
  ...PARTS.flatMap(([part, mode, owner]) => [
    scored(mode, `Only their owner can change the settings for the ${part}`, CHMOD, modes(0o600, 'settings')),
    scored(owner, `The settings for the ${part} belong to its user`, CHOWN, owners('settings')),
  ]),
  scored('1.1.7', 'Only its owner can change how etcd starts', CHMOD, withoutEtcd(noEtcdPod)),
  scored('1.1.8', 'What etcd starts with belongs to root', CHOWN, withoutEtcd(noEtcdPod)),
  advised('1.1.9', 'Only its owner can change the pod network', CHMOD, modes(0o600, 'pod network')),
  advised('1.1.10', 'The files of the pod network belong to their user', CHOWN, owners('pod network')),
  scored('1.1.11', 'Only its owner can read the store', 'chmod 700 DIRECTORY', withoutEtcd(modes(0o700, 'store'))),
  scored('1.1.12', 'The store belongs to the user of the server', CHOWN, withoutEtcd(owners('store'))),
  scored('1.1.13', 'Only its owner can read the administrator credentials', CHMOD, modes(0o600, 'admin kubeconfig')),
  scored('1.1.14', 'The administrator credentials belong to their user', CHOWN, owners('admin kubeconfig')),
  scored(
    '1.1.15',
    'Only its owner can read the credentials of the scheduler',
    CHMOD,
    modes(0o600, 'component kubeconfig'),
  ),
  scored('1.1.16', 'The credentials of the scheduler belong to their user', CHOWN, owners('component kubeconfig')),
  scored(
    '1.1.17',
    'Only its owner can read the credentials of controllers',
    CHMOD,
    modes(0o600, 'component kubeconfig'),
  ),
  scored('1.1.18', 'The credentials of controllers belong to their user', CHOWN, owners('component kubeconfig')),
  scored(
    '1.1.19',
    'Keys and certificates belong to the user of the server',
    CHOWN,
    owners('pki', 'certificate', 'private key'),
  ),
  advised('1.1.20', 'Only their owner can change certificates', 'chmod 644 FILE', modes(0o644, 'certificate')),
  advised('1.1.21', 'Only their owner can read private keys', 'chmod 600 FILE', modes(0o600, 'private key')),
]
