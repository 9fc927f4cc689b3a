/** Pods for a node that is killed over and over: some stay for ever, some come, do their work and go. */
import type { Container, PodSpec } from '../../src/api/generated/core-v1.ts'
import { mapsOwners } from '../container-runtime/builtin-under-test.ts'

const IMAGE = 'sampan.local/host'

/** How many pods never end, and how many containers they have. */
export const STEADY = mapsOwners() ? { pods: 7, containers: 8 } : { pods: 6, containers: 7 }

/** Every start of a container leaves a line in a file of its pod's name, outside of the pod. */
export class KillScenario {
  readonly #marks: string

  constructor(marks: string) {
    this.#marks = marks
  }

  /** These never end by themselves: whatever dies around them, each container starts once. */
  steady(): object[] {
    const stays = (name: string, more: Partial<Container> = {}) => this.#sh(name, 'exec sleep 100000', more)
    // A machine that is busy with dying is slow: that alone is no illness.
    const probe = { exec: { command: ['true'] }, periodSeconds: 1, timeoutSeconds: 60 }
    return [
      { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'settings' }, data: { color: 'red' } },
      this.#pod('steady-plain', { restartPolicy: 'Never', containers: [stays('main')] }),
      this.#pod('steady-sidecar', {
        initContainers: [this.#sh('init', 'true'), stays('side', { restartPolicy: 'Always' })],
        containers: [stays('main')],
      }),
      this.#pod('steady-probes', {
        containers: [stays('main', { startupProbe: probe, readinessProbe: probe, livenessProbe: probe })],
      }),
      ...(mapsOwners()
        ? [this.#pod('steady-users', { hostUsers: false, containers: [stays('main', { readinessProbe: probe })] })]
        : []),
      this.#pod('steady-volumes', {
        restartPolicy: 'OnFailure',
        volumes: [
          { name: 'disk', emptyDir: {} },
          { name: 'memory', emptyDir: { medium: 'Memory' } },
          { name: 'settings', configMap: { name: 'settings' } },
        ],
        containers: [
          stays('main', {
            volumeMounts: [
              { name: 'disk', mountPath: '/disk' },
              { name: 'disk', mountPath: '/part', subPath: 'part' },
              { name: 'memory', mountPath: '/memory' },
              { name: 'settings', mountPath: '/settings' },
            ],
          }),
        ],
      }),
      {
        apiVersion: 'apps/v1',
        kind: 'Deployment',
        metadata: { name: 'steady-web' },
        spec: {
          replicas: 2,
          selector: { matchLabels: { app: 'steady-web' } },
          template: {
            metadata: { labels: { app: 'steady-web' } },
            spec: this.#spec({ containers: [stays('main')] }),
          },
        },
      },
    ]
  }

  /** These come while things die. Those that end must have done so exactly as their programs say. */
  wave(number: number): object[] {
    const once = this.#sh('main', 'sleep 0.2')
    return [
      this.#pod(`once-${number}`, { restartPolicy: 'Never', containers: [once] }),
      this.#pod(`fails-${number}`, { restartPolicy: 'Never', containers: [this.#sh('main', 'exit 3')] }),
      this.#pod(`again-${number}`, {
        restartPolicy: 'OnFailure',
        volumes: [{ name: 'disk', emptyDir: {} }],
        containers: [
          this.#sh('main', 'test -e /disk/tried && exit 0; touch /disk/tried; exit 1', {
            volumeMounts: [{ name: 'disk', mountPath: '/disk' }],
          }),
        ],
      }),
      this.#pod(`goes-${number}`, {
        initContainers: [this.#sh('init', 'true'), this.#sh('side', 'exec sleep 100000', { restartPolicy: 'Always' })],
        containers: [this.#sh('main', 'exec sleep 100000')],
      }),
      {
        apiVersion: 'batch/v1',
        kind: 'Job',
        metadata: { name: `job-${number}` },
        spec: {
          completions: 2,
          template: { spec: this.#spec({ restartPolicy: 'Never', containers: [once] }) },
        },
      },
    ]
  }

  #sh(name: string, script: string, more: Partial<Container> = {}): Container {
    return {
      name,
      image: IMAGE,
      command: ['sh', '-c', `echo ${name} >> /marks/$HOSTNAME; ${script}`],
      ...more,
      volumeMounts: [...(more.volumeMounts ?? []), { name: 'marks', mountPath: '/marks' }],
    }
  }

  #pod(name: string, spec: PodSpec): object {
    return { apiVersion: 'v1', kind: 'Pod', metadata: { name }, spec: this.#spec(spec) }
  }

  #spec(spec: PodSpec): PodSpec {
    const marks = { name: 'marks', hostPath: { path: this.#marks } }
    return { terminationGracePeriodSeconds: 1, ...spec, volumes: [...(spec.volumes ?? []), marks] }
  }
}
