import path from 'node:path'

export const PAUSE_IMAGE = 'sampan.local/pause:1'

/** Where a private containerd keeps what is its own. */
export interface ContainerdPlaces {
  /** Images and records; outlives a restart of the machine. */
  readonly root: string
  /** Mounts and sockets; in /run, for the names of sockets are short and their life is too. */
  readonly state: string
  readonly socket: string
  readonly cniPlugins: string
  readonly cniConfiguration: string
  readonly cniSocket: string
  /** hosts.toml files of registries: https://github.com/containerd/containerd/blob/main/docs/hosts.md */
  readonly registries: string
}

export function containerdPlaces(dir: string, state: string): ContainerdPlaces {
  return {
    root: path.join(dir, 'root'),
    state,
    socket: path.join(state, 'containerd.sock'),
    cniPlugins: path.join(dir, 'cni', 'bin'),
    cniConfiguration: path.join(dir, 'cni', 'net.d'),
    cniSocket: path.join(state, 'cni.sock'),
    registries: path.join(dir, 'certs.d'),
  }
}

/** What would reach for places of another containerd, or need what is not there. */
const UNUSED = [
  'io.containerd.internal.v1.opt',
  'io.containerd.snapshotter.v1.aufs',
  'io.containerd.snapshotter.v1.btrfs',
  'io.containerd.snapshotter.v1.devmapper',
  'io.containerd.snapshotter.v1.zfs',
  'io.containerd.tracing.processor.v1.otlp',
  'io.containerd.internal.v1.tracing',
]

/** config.toml. JSON strings and arrays are TOML too. */
export function containerdConfiguration(places: ContainerdPlaces): string {
  const text = JSON.stringify
  return `version = 2
root = ${text(places.root)}
state = ${text(places.state)}
disabled_plugins = ${text(UNUSED)}

[grpc]
  address = ${text(places.socket)}

[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = ${text(PAUSE_IMAGE)}
  # Without CAP_SYS_RESOURCE, as inside of containers, a lower score cannot be had.
  restrict_oom_score_adj = true
  netns_mounts_under_state_dir = true
  enable_unprivileged_ports = false
  stream_server_address = "127.0.0.1"
  stream_server_port = "0"

  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = ${text(places.cniPlugins)}
    conf_dir = ${text(places.cniConfiguration)}

  [plugins."io.containerd.grpc.v1.cri".registry]
    config_path = ${text(places.registries)}

  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"

    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
      Root = ${text(path.join(places.state, 'runc'))}
`
}
