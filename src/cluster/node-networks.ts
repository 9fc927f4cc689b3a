/** Where the networks between the nodes of one machine are looked for. */
export const NODE_NETWORKS = '172.30.0.0/16'
