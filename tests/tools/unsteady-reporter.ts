import type { Reporter, TestModule } from 'vitest/node'

/** Names the tests that failed at first and then passed: each is a bug of ours, in the test or in what it tests. */
export class UnsteadyReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const unsteady = modules.flatMap((module) =>
      [...module.children.allTests('passed')].filter((test) => test.diagnostic()?.flaky),
    )
    if (unsteady.length === 0) return
    console.log(`\n${unsteady.length} passed only when tried again:`)
    for (const test of unsteady) {
      console.log(`  ${test.module.relativeModuleId} > ${test.fullName}`)
      for (const { message } of test.result().errors ?? []) console.log(`    ${message.split('\n')[0]}`)
    }
  }
}
