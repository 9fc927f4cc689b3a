/** The calls of runtime.v1 that are used, and what goes with each. */
import type { MessageType } from '../../protobuf/message.ts'
import type { Method } from './connection.ts'
import * as container from './messages/container.ts'
import * as runtime from './messages/runtime.ts'
import * as sandbox from './messages/sandbox.ts'

const of =
  (service: string) =>
  <Q, A>(name: string, request: MessageType<Q>, response: MessageType<A>): Method<Q, A> => ({
    path: `/${service}/${name}`,
    request,
    response,
  })
const runtimeService = of('runtime.v1.RuntimeService')
const imageService = of('runtime.v1.ImageService')
const { Empty } = sandbox

export const METHOD = {
  version: runtimeService('Version', runtime.VersionRequest, runtime.VersionResponse),
  status: runtimeService('Status', Empty, runtime.StatusResponse),
  runtimeConfig: runtimeService('RuntimeConfig', Empty, runtime.RuntimeConfigResponse),
  runPodSandbox: runtimeService('RunPodSandbox', sandbox.RunPodSandboxRequest, sandbox.SandboxId),
  stopPodSandbox: runtimeService('StopPodSandbox', sandbox.SandboxId, Empty),
  removePodSandbox: runtimeService('RemovePodSandbox', sandbox.SandboxId, Empty),
  podSandboxStatus: runtimeService('PodSandboxStatus', sandbox.SandboxStatusRequest, sandbox.PodSandboxStatusResponse),
  listPodSandbox: runtimeService('ListPodSandbox', sandbox.ListPodSandboxRequest, sandbox.ListPodSandboxResponse),
  createContainer: runtimeService('CreateContainer', container.CreateContainerRequest, container.ContainerId),
  startContainer: runtimeService('StartContainer', container.ContainerId, Empty),
  stopContainer: runtimeService('StopContainer', container.StopContainerRequest, Empty),
  removeContainer: runtimeService('RemoveContainer', container.ContainerId, Empty),
  containerStatus: runtimeService(
    'ContainerStatus',
    container.ContainerStatusRequest,
    container.ContainerStatusResponse,
  ),
  listContainers: runtimeService('ListContainers', container.ListContainersRequest, container.ListContainersResponse),
  updateContainerResources: runtimeService(
    'UpdateContainerResources',
    container.UpdateContainerResourcesRequest,
    Empty,
  ),
  reopenContainerLog: runtimeService('ReopenContainerLog', container.ContainerId, Empty),
  execSync: runtimeService('ExecSync', container.ExecSyncRequest, container.ExecSyncResponse),
  exec: runtimeService('Exec', container.ExecRequest, container.StreamingUrl),
  attach: runtimeService('Attach', container.AttachRequest, container.StreamingUrl),
  portForward: runtimeService('PortForward', container.PortForwardRequest, container.StreamingUrl),
  listContainerStats: runtimeService(
    'ListContainerStats',
    runtime.ListContainerStatsRequest,
    runtime.ListContainerStatsResponse,
  ),
  listPodSandboxStats: runtimeService(
    'ListPodSandboxStats',
    runtime.ListPodSandboxStatsRequest,
    runtime.ListPodSandboxStatsResponse,
  ),
  containerEvents: runtimeService('GetContainerEvents', Empty, runtime.ContainerEventResponse),
  listImages: imageService('ListImages', Empty, runtime.ListImagesResponse),
  imageStatus: imageService('ImageStatus', runtime.ImageRequest, runtime.ImageStatusResponse),
  pullImage: imageService('PullImage', runtime.PullImageRequest, runtime.PullImageResponse),
  removeImage: imageService('RemoveImage', runtime.ImageRequest, Empty),
  imageFsInfo: imageService('ImageFsInfo', Empty, runtime.ImageFsInfoResponse),
  /** containerd's own, on the same socket. */
  subscribe: of('containerd.services.events.v1.Events')('Subscribe', runtime.SubscribeRequest, runtime.EventEnvelope),
} as const
