import { describe, expect, it } from 'vitest'
import type { Container, Pod } from '../../api/generated/core-v1.ts'
import { type ProbeVerdict, podActions } from './pod-actions.ts'
import { CONTAINER_HASH, CONTAINER_NAME_LABEL, containerHash } from './runtime-labels.ts'
import type { RuntimeContainer, RuntimePod } from './runtime-pod.ts'

const container = (name: string, more: Partial<Container> = {}): Container => ({ name, image: 'a:1', ...more })

const pod = (spec: Partial<NonNullable<Pod['spec']>>): Pod => ({
  metadata: { name: 'web', namespace: 'default', uid: 'u' },
  spec: { containers: [container('main')], ...spec },
})

/** `main:running`, `main:0` (its exit code), `main:created`; the sandbox is ready unless it is said to be dead. */
function runtime(states: readonly string[], sandbox: 'ready' | 'dead' | 'none' = 'ready'): RuntimePod {
  const containers = states.map((text): RuntimeContainer => {
    const [name = '', is = ''] = text.split(':')
    const state = is === 'running' ? 'RUNNING' : is === 'created' ? 'CREATED' : 'EXITED'
    return {
      id: `${name}-id`,
      sandboxId: 's',
      name,
      attempt: 0,
      image: 'a:1',
      imageId: 'i',
      state,
      createdAt: 0,
      labels: { [CONTAINER_NAME_LABEL]: name },
      annotations: { [CONTAINER_HASH]: containerHash({ name, image: 'a:1' }) },
      logPath: '',
      ...(state === 'EXITED' && { exitCode: Number(is), finishedAt: 0 }),
    }
  })
  if (sandbox === 'none') return { sandboxes: [], containers }
  const state = sandbox === 'ready' ? 'READY' : 'NOTREADY'
  const metadata = { name: 'web', namespace: 'default', uid: 'u', attempt: 0 }
  return {
    sandboxes: [{ id: 's', metadata, state, createdAt: 0, labels: {}, annotations: {}, ips: ['10.0.0.1'] }],
    containers,
  }
}

const SIDECAR = container('side', { restartPolicy: 'Always' })
const GATED = container('side', { restartPolicy: 'Always', startupProbe: { exec: { command: ['x'] } } })
const INIT = container('init')

/** What is done, in short: `kill pod`, `sandbox 0`, `-main`, `+main`. */
function acts(spec: Parameters<typeof pod>[0], found: RuntimePod, verdicts: Record<string, ProbeVerdict> = {}): string {
  const actions = podActions(pod(spec), found, {
    liveness: (id) => verdicts[`liveness ${id}`],
    startup: (id) => verdicts[`startup ${id}`],
  })
  return [
    ...(actions.killPod ? ['kill pod'] : []),
    ...(actions.createSandbox ? [`sandbox ${actions.attempt}`] : []),
    ...actions.kill.map((kill) => `-${kill.container.name}`),
    ...[...actions.startEphemeral, ...actions.startInit, ...actions.start].map(({ name }) => `+${name}`),
  ].join(', ')
}

describe('what is to be done', () => {
  it.each<[string, Parameters<typeof pod>[0], RuntimePod, string]>([
    ['a new pod', {}, runtime([], 'none'), 'kill pod, sandbox 0, +main'],
    ['a new pod with an init container', { initContainers: [INIT] }, runtime([], 'none'), 'kill pod, sandbox 0, +init'],
    ['a sandbox without containers', {}, runtime([]), '+main'],
    ['all is well', {}, runtime(['main:running']), ''],
    ['made but not started', {}, runtime(['main:created']), '+main'],
    ['ended, Always', {}, runtime(['main:0']), '+main'],
    ['succeeded, OnFailure', { restartPolicy: 'OnFailure' }, runtime(['main:0']), 'kill pod'],
    ['failed, OnFailure', { restartPolicy: 'OnFailure' }, runtime(['main:1']), '+main'],
    ['failed, Never', { restartPolicy: 'Never' }, runtime(['main:1']), 'kill pod'],
    [
      'one of two ended, Never',
      { restartPolicy: 'Never', containers: [container('main'), container('b')] },
      runtime(['main:1', 'b:running']),
      '',
    ],
    ['the sandbox died', {}, runtime(['main:137'], 'dead'), 'kill pod, sandbox 1, +main'],
    ['the sandbox died, Never', { restartPolicy: 'Never' }, runtime(['main:137'], 'dead'), 'kill pod'],
    ['the sandbox died, its work done', { restartPolicy: 'OnFailure' }, runtime(['main:0'], 'dead'), 'kill pod'],
    ['another image', { containers: [container('main', { image: 'a:2' })] }, runtime(['main:running']), '-main, +main'],
    [
      'an ephemeral container',
      { ephemeralContainers: [{ name: 'debug', image: 'a:1' }] },
      runtime(['main:running']),
      '+debug',
    ],
    [
      'an ephemeral container that ended',
      { ephemeralContainers: [{ name: 'debug', image: 'a:1' }] },
      runtime(['main:running', 'debug:0']),
      '',
    ],
    ['init runs', { initContainers: [INIT] }, runtime(['init:running']), ''],
    ['init done', { initContainers: [INIT] }, runtime(['init:0']), '+main'],
    ['init failed', { initContainers: [INIT] }, runtime(['init:1']), '+init'],
    ['init failed, Never', { initContainers: [INIT], restartPolicy: 'Never' }, runtime(['init:1']), 'kill pod'],
    ['the second init', { initContainers: [INIT, container('init-2')] }, runtime(['init:0']), '+init-2'],
    ['init removed after the start', { initContainers: [INIT] }, runtime(['main:running']), ''],
    ['a sidecar first', { initContainers: [SIDECAR, INIT] }, runtime([]), '+side'],
    ['a sidecar is up', { initContainers: [SIDECAR, INIT] }, runtime(['side:running']), '+init'],
    ['a sidecar is not started yet', { initContainers: [GATED, INIT] }, runtime(['side:running']), ''],
    ['a sidecar ended', { initContainers: [SIDECAR] }, runtime(['side:1', 'main:running']), '+side'],
    [
      'only the sidecar is left',
      { initContainers: [SIDECAR], restartPolicy: 'Never' },
      runtime(['side:running', 'main:0']),
      'kill pod',
    ],
    [
      'a rule of its own',
      {
        restartPolicy: 'Never',
        containers: [
          container('main', {
            restartPolicy: 'Never',
            restartPolicyRules: [{ action: 'Restart', exitCodes: { operator: 'In', values: [42] } }],
          }),
        ],
      },
      runtime(['main:42']),
      '+main',
    ],
    [
      'a rule that does not fit',
      {
        restartPolicy: 'Never',
        containers: [
          container('main', {
            restartPolicy: 'Never',
            restartPolicyRules: [{ action: 'Restart', exitCodes: { operator: 'In', values: [42] } }],
          }),
        ],
      },
      runtime(['main:1']),
      'kill pod',
    ],
  ])('%s', (_, spec, found, expected) => {
    expect(acts(spec, found)).toBe(expected)
  })

  it.each<[string, Parameters<typeof pod>[0], Record<string, ProbeVerdict>, string]>([
    ['liveness failed', {}, { 'liveness main-id': 'Failure' }, '-main, +main'],
    ['startup failed', {}, { 'startup main-id': 'Failure' }, '-main, +main'],
    ['liveness failed, Never', { restartPolicy: 'Never' }, { 'liveness main-id': 'Failure' }, 'kill pod'],
    ['liveness is fine', {}, { 'liveness main-id': 'Success' }, ''],
  ])('%s', (_, spec, verdicts, expected) => {
    expect(acts(spec, runtime(['main:running']), verdicts)).toBe(expected)
  })

  it('a started sidecar lets the next one go', () => {
    const found = runtime(['side:running'])
    expect(acts({ initContainers: [GATED, INIT] }, found, { 'startup side-id': 'Success' })).toBe('+init')
  })
})
