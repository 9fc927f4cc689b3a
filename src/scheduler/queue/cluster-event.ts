/** What can happen in a cluster that makes a pod placeable which was not. */
export type ClusterEvent =
  | 'NodeAdd'
  | 'NodeUpdate'
  | 'PodAdd'
  | 'PodDelete'
  | 'PodUpdate'
  | 'PodLabelUpdate'
  | 'StorageChange'
  | 'NamespaceUpdate'
  | 'SelectorChange'
