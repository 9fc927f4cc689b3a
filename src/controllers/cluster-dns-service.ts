/** What nodes must know of the Service kube-dns to be found behind it. */
export { CLUSTER_DNS_LABEL, CLUSTER_DNS_PORT } from './cluster-dns/controller.ts'
