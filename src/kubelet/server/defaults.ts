import type { KubeletAccess } from './kubelet-server.ts'

const ADMINISTRATORS = new Set(['system:masters', 'kubeadm:cluster-admins'])
const API_SERVER = 'kube-apiserver-kubelet-client'

/** Who may ask a kubelet where nobody decides: administrators and the API server. */
export const isAdministrator = ({ user }: KubeletAccess): boolean =>
  user.name === API_SERVER || user.groups.some((group) => ADMINISTRATORS.has(group))
