import type { Kind } from '../kind.ts'
import { controllerRevisionKind } from './apps/controller-revision.ts'
import { daemonSetKind } from './apps/daemon-set/kind.ts'
import { deploymentKind } from './apps/deployment/kind.ts'
import { replicaSetKind } from './apps/replica-set/kind.ts'
import { statefulSetKind } from './apps/stateful-set/kind.ts'
import { horizontalPodAutoscalerKind } from './autoscaling/horizontal-pod-autoscaler/kind.ts'
import { horizontalPodAutoscalerV1Kind } from './autoscaling/horizontal-pod-autoscaler-v1/kind.ts'
import { cronJobKind } from './batch/cron-job/kind.ts'
import { jobKind } from './batch/job/kind.ts'
import { bindingKind } from './core/binding.ts'
import { podKind } from './core/pod/kind.ts'
import { podTemplateKind } from './core/pod-template.ts'
import { replicationControllerKind } from './core/replication-controller.ts'
import { podDisruptionBudgetKind } from './policy/pod-disruption-budget.ts'

/** Everything that runs, or keeps things running. In the order of discovery. */
export const workloadKinds: readonly Kind[] = [
  bindingKind,
  podKind,
  podTemplateKind,
  replicationControllerKind,
  controllerRevisionKind,
  daemonSetKind,
  deploymentKind,
  replicaSetKind,
  statefulSetKind,
  horizontalPodAutoscalerKind,
  horizontalPodAutoscalerV1Kind,
  cronJobKind,
  jobKind,
  podDisruptionBudgetKind,
]
