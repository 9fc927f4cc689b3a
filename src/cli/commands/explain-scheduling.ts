import { Command } from 'commander'
import { type ConnectOptions, connectOptions, withApi } from '../resources/connect.ts'

interface ExplainOptions extends ConnectOptions {
  output?: string
}

export function explainSchedulingCommand(): Command {
  return connectOptions(
    new Command('explain-scheduling')
      .description('Show which nodes a pod can go to, which not and why, and how they score.')
      .argument('<pod>', 'a pending or a placed pod'),
  )
    .option('-o, --output <format>', 'json for the whole table')
    .addHelpText(
      'after',
      '\nA placed pod is looked at as if it came now.\n\nExamples:\n  $ sampan explain-scheduling web-7c5d',
    )
    .action((pod: string, options: ExplainOptions) => explain(pod, options))
}

/** The scheduler is loaded only by those who ask for it. */
async function explain(pod: string, options: ExplainOptions): Promise<void> {
  const { explainPod } = await import('../explain-pod.ts')
  await withApi(options, (api) => explainPod(api, pod, options.output))
}
