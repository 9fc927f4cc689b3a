/** What pods leave in volumes, and what becomes of it when the volumes go. */
import { existsSync, lstatSync, readdirSync } from 'node:fs'
import path from 'node:path'
import { eventually } from '../../tools/machine.ts'
import type { DrivenAttempt } from '../attempt.ts'
import { shell } from '../cells.ts'
import type { Environment } from '../environments.ts'
import { withPod } from './exec.ts'

/** Links to the canaries in every form, deep folders, folders without rights, names of all bytes. */
const FILL = [
  'cd /v',
  'ln -s $GOAL absolute; ln -s ../../../../../../../../../../../..$GOAL relative; ln -s / root; ln -s .. up; ln -s loop loop',
  'ln -s /proc/1/root$GOAL process; ln -s $SECRET_FILE file; mkdir -p locked/inner; ln -s $GOAL locked/inner/l; chmod 000 locked',
  'mkfifo fifo; mknod device c 1 3; touch -- -rf "$(printf "line\\nbreak")" "$(printf "\\377\\376")" "*"',
  'd=.; for i in $(seq 200); do d=$d/deep; mkdir $d; done; ln -s $GOAL $d/l',
  'attacker files /v 3000',
  'echo filled; sleep 1000',
].join('; ')

const filled = (environment: Environment, name: string) =>
  eventually(
    async () => environment.log(name),
    (log) => log.includes('filled'),
  )

const podFolders = (environment: Environment) =>
  readdirSync(path.join(environment.dataDir, 'nodes/node-1/kubelet/pods'))

const CLAIM = {
  apiVersion: 'v1',
  kind: 'PersistentVolumeClaim',
  metadata: { name: 'walls' },
  spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Mi' } } },
}

async function volumeFolder(environment: Environment): Promise<{ name: string; folder: string }> {
  const name = await environment.ask('get', 'pvc', 'walls', '-o', 'jsonpath={.spec.volumeName}')
  return { name, folder: await environment.ask('get', 'pv', name, '-o', 'jsonpath={.spec.hostPath.path}') }
}

export const leftBehind: readonly DrivenAttempt[] = [
  {
    name: 'an emptyDir full of links, locked and deep folders is removed, and nothing else',
    idea: 'CVE-2018-1002100, CVE-2021-3541: deletion that follows links',
    async drive(environment) {
      const uid = await withPod(
        environment,
        'leaves-files',
        { command: shell(FILL), volumeMounts: [{ name: 'v', mountPath: '/v' }] },
        async () => {
          await filled(environment, 'leaves-files')
          return environment.ask('get', 'pod', 'leaves-files', '-o', 'jsonpath={.metadata.uid}')
        },
        { volumes: [{ name: 'v', emptyDir: {} }] },
      )
      await eventually(
        async () => podFolders(environment),
        (names) => !names.includes(uid),
      )
      return (
        environment.canaries
          .harm()
          .map((line) => `ESCAPED ${line}`)
          .join('\n') || 'held all of it is gone'
      )
    },
  },
  {
    name: 'a claim full of links is deleted with its volume, and nothing else',
    idea: 'the pod that removes volumes follows links',
    async drive(environment) {
      await environment.apply(CLAIM)
      const { name, folder } = await withPod(
        environment,
        'leaves-volume',
        { command: shell(FILL), volumeMounts: [{ name: 'v', mountPath: '/v' }] },
        async () => {
          await filled(environment, 'leaves-volume')
          return volumeFolder(environment)
        },
        { volumes: [{ name: 'v', persistentVolumeClaim: { claimName: 'walls' } }] },
      )
      const wasThere = existsSync(folder) && lstatSync(folder).isDirectory()
      await environment.ask('delete', 'pvc', 'walls', '--now')
      await environment.ask('wait', '--for=delete', `pv/${name}`, '--timeout=60s')
      if (!wasThere || existsSync(folder)) return `the volume was there: ${wasThere}, and is: ${existsSync(folder)}`
      return (
        environment.canaries
          .harm()
          .map((line) => `ESCAPED ${line}`)
          .join('\n') || 'held all of it is gone'
      )
    },
  },
]
