/** Containers that wait for `kubectl exec`, attach and port-forward. */

import { eventually } from '../../tools/machine.ts'
import type { Attempt, DrivenAttempt } from '../attempt.ts'
import { envOf, shell } from '../cells.ts'
import type { Environment } from '../environments.ts'
import { BASE_IMAGE } from '../images.ts'
import { LOOPBACK_PORT } from './network.ts'

const UP = '../../../../../../../../../../../..'
const EXECS = 6

/** A pod that runs the script until it is deleted. */
export async function withPod<T>(
  environment: Environment,
  name: string,
  container: object,
  work: () => Promise<T>,
  spec: object = {},
): Promise<T> {
  const main = { name: 'main', image: BASE_IMAGE, env: envOf(environment.canaries), ...container }
  const pod = { restartPolicy: 'Never', terminationGracePeriodSeconds: 0, containers: [main], ...spec }
  await environment.apply({ apiVersion: 'v1', kind: 'Pod', metadata: { name }, spec: pod })
  try {
    await environment.until(name, ({ status }) => status?.containerStatuses?.[0]?.state?.running !== undefined)
    return await work()
  } finally {
    await environment.ask('delete', 'pod', name, '--now')
  }
}

const texts = ({ code, stdout, stderr }: { code: number; stdout: string; stderr: string }) =>
  `${stdout}${stderr}(${code})\n`

const targets = new WeakMap<Environment, Promise<void>>()

/** One pod that the rows below have in common; it goes with the cluster. */
async function target(environment: Environment): Promise<void> {
  const script = 'printf "#!/proc/self/exe\\n" > /tmp/evil; chmod 755 /tmp/evil; exec sleep 10000'
  const main = { name: 'main', image: BASE_IMAGE, env: envOf(environment.canaries), command: shell(script) }
  const pod = { terminationGracePeriodSeconds: 0, containers: [main] }
  await environment.apply({ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'target' }, spec: pod })
  await environment.until('target', ({ status }) => status?.containerStatuses?.[0]?.state?.running !== undefined)
}

async function inTarget(environment: Environment, flags: readonly string[], ...command: readonly string[]) {
  const made = targets.get(environment) ?? target(environment)
  targets.set(environment, made)
  await made
  return texts(await environment.kubectl(['exec', ...flags, 'target', '--', ...command]))
}

/** Looks at everything that enters, while commands come in: also such as name the runtime's own program. */
const watched: DrivenAttempt = {
  name: 'a container gets nothing of the processes that kubectl exec brings in',
  idea: 'CVE-2019-5736, CVE-2016-9962: the exec process before its execve',
  async drive(environment) {
    await inTarget(environment, [], 'true')
    const { secretFile } = environment.canaries
    const watch = inTarget(environment, [], 'attacker', 'watch', '4000', secretFile)
    const commands = ['/bin/true', '/tmp/evil', '/proc/self/exe', '/proc/1/exe', '/proc/self/fd/3', '/bin/true']
    const said = await Promise.all(commands.map((command) => inTarget(environment, [], command)))
    return `${said.join('')}${await watch}${await inTarget(environment, [], 'echo', 'held it still works')}`
  },
}

const descriptors = (what: string, ...flags: readonly string[]): DrivenAttempt => ({
  name: `a command of kubectl exec ${what} is born with three descriptors`,
  idea: 'CVE-2024-21626: descriptors that are left open',
  drive: (environment) => inTarget(environment, flags, '/bin/attacker', 'descriptors', environment.canaries.secretFile),
})

/** Points the working folder at one descriptor after the other. */
const MOVING_FOLDER = 'while :; do for i in $(seq 3 40); do ln -sfn /proc/self/fd/$i /w; done; done'

export const exec: readonly Attempt[] = [
  watched,
  descriptors('without a terminal'),
  descriptors('with a terminal', '-i', '-t'),
  ...[false, true].map((tty) => ({
    name: `the program of a container ${tty ? 'with' : 'without'} a terminal is born with three descriptors`,
    idea: 'CVE-2024-21626: descriptors that are left open',
    ends: 'ran' as const,
    container: ({ secretFile }: { secretFile: string }) => ({
      tty,
      stdin: tty,
      command: ['/bin/attacker', 'descriptors', secretFile],
    }),
  })),
  {
    name: 'a working folder that becomes a link does not lead kubectl exec to the host',
    idea: 'CVE-2024-21626',
    drive: (environment) => {
      const script = `rmdir /w; ${MOVING_FOLDER}`
      return withPod(environment, 'exec-folder', { workingDir: '/w', command: shell(script) }, async () => {
        const look = ['exec', 'exec-folder', '--', 'sh', '-c', `cat ./${UP}$SECRET_FILE .$SECRET_FILE; echo held`]
        const said = await Promise.all(Array.from({ length: EXECS }, () => environment.kubectl(look)))
        // Where the folder is refused each time there is no output of a command.
        return `${said.map(texts).join('')}held all of them ended`
      })
    },
  },
  {
    name: 'port-forward ends in the pod and not on the loopback of the node',
    idea: 'localhost is the pod',
    async drive(environment) {
      await inTarget(environment, [], 'true')
      const forward = environment.startKubectl('port-forward', 'target', `:${LOOPBACK_PORT}`)
      try {
        let said = ''
        forward.stdout!.on('data', (text) => (said += text))
        const port = await eventually(
          async () => /127\.0\.0\.1:(\d+)/.exec(said)?.[1] ?? '',
          (text) => text !== '',
        )
        const answer = await environment.machine.run('curl', ['-s', '-m', '3', `http://127.0.0.1:${port}/`])
        return answer.code === 0 ? `ESCAPED ${answer.stdout}` : `held ${answer.code}`
      } finally {
        forward.kill('SIGKILL')
      }
    },
  },
  {
    name: 'a hook and a probe of a hostile image run in its container',
    idea: 'CVE-2019-5736 by the kubelet itself',
    container: ({ secretFile }) => ({
      command: shell(`attacker watch 3000 $SECRET_FILE`),
      lifecycle: { postStart: { exec: { command: ['/bin/attacker', 'descriptors', secretFile] } } },
      readinessProbe: { exec: { command: ['/bin/attacker', 'descriptors', secretFile] }, periodSeconds: 1 },
    }),
  },
]
