/** Pods that take too much: the node stays as it is. */
import type { Attempt } from '../attempt.ts'
import { shell } from '../cells.ts'

const MIB = 1024 * 1024

export const resources: readonly Attempt[] = [
  {
    name: 'a fork bomb meets a limit',
    idea: ':(){ :|:& };:',
    // A plain user has no control groups of version 1.
    on: ['builtin', 'containerd'],
    script: 'attacker forks 5000',
  },
  {
    name: 'a container that eats memory is killed at its limit',
    idea: 'memory bomb',
    on: ['builtin', 'containerd'],
    container: () => ({ resources: { limits: { memory: '48Mi' } }, command: ['/bin/attacker', 'eat', '256'] }),
  },
  {
    name: 'files in a memory volume count against its limit',
    idea: 'memory bomb by tmpfs',
    ends: 'ran',
    volumes: { memory: { emptyDir: { medium: 'Memory', sizeLimit: '8Mi' } } },
    container: () => ({
      volumeMounts: [{ name: 'memory', mountPath: '/v' }],
      command: shell('dd if=/dev/zero of=/v/x bs=1M count=16 2>/dev/null && echo ESCAPED; echo held'),
    }),
  },
  {
    name: 'shared memory has a limit',
    idea: 'memory bomb by /dev/shm',
    script: 'dd if=/dev/zero of=/dev/shm/x bs=1M count=128 2>/dev/null && echo ESCAPED; rm -f /dev/shm/x; echo held',
  },
  {
    name: 'device files fill no memory without a limit',
    idea: 'memory bomb by /dev',
    script: 'dd if=/dev/zero of=/dev/x bs=1M count=128 2>/dev/null && echo ESCAPED; rm -f /dev/x; echo held',
  },
  {
    name: 'a pod that fills its emptyDir is evicted',
    idea: 'disk bomb',
    spec: { terminationGracePeriodSeconds: 0 },
    volumes: { disk: { emptyDir: { sizeLimit: '4Mi' } } },
    container: () => ({
      volumeMounts: [{ name: 'disk', mountPath: '/v' }],
      command: shell(`head -c ${16 * MIB} /dev/zero > /v/x; sleep 60; echo ESCAPED it still runs`),
    }),
  },
  {
    name: 'a pod that fills its writable layer is evicted',
    idea: 'disk bomb',
    spec: { terminationGracePeriodSeconds: 0 },
    container: () => ({
      resources: { limits: { 'ephemeral-storage': '4Mi' } },
      command: shell(`head -c ${16 * MIB} /dev/zero > /x; sleep 60; echo ESCAPED it still runs`),
    }),
  },
]
