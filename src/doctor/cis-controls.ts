import { apiServer } from './cis/api-server.ts'
import { authentication } from './cis/authentication.ts'
import { controlPlaneFiles } from './cis/control-plane-files.ts'
import { controllers } from './cis/controllers.ts'
import { etcd } from './cis/etcd.ts'
import { nodes } from './cis/nodes.ts'
import { policies } from './cis/policies.ts'
import { rbac } from './cis/rbac.ts'
import type { CisControl } from './cis/rows.ts'

/** The controls of the CIS Kubernetes Benchmark 1.12, by their numbers. */
export const cisControls: readonly CisControl[] = [
  ...controlPlaneFiles,
  ...apiServer,
  ...controllers,
  ...etcd,
  ...authentication,
  ...nodes,
  ...rbac,
  ...policies,
]
