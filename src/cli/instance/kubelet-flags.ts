import { type Command, InvalidArgumentError } from 'commander'

/** The flags of a kubelet, for every command that starts nodes. */
export const withKubeletFlags = (command: Command) =>
  command
    .option(
      '--seccomp-default <boolean>',
      "whether pods without a seccomp profile get the runtime's (default: true)",
      yesOrNo,
    )
    .option('--pod-max-pids <n>', 'how many processes a pod may have, -1 for any number (default: 4096)', pidsArgument)

function yesOrNo(text: string): boolean {
  if (text !== 'true' && text !== 'false') throw new InvalidArgumentError('It is true or false.')
  return text === 'true'
}

function pidsArgument(text: string): number {
  const count = Number(text)
  if (!/^(-1|[1-9]\d{0,8})$/.test(text)) throw new InvalidArgumentError('A number from 1 on, or -1 for no limit.')
  return count
}
