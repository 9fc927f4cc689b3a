import { appendFileSync } from 'node:fs'
import type { Reporter, SerializedError, TestCase, TestModule } from 'vitest/node'

/**
 * Names the tests that failed, and those that failed at first and then passed: each is a bug of ours, in the test or in
 * what it tests. `npm test` asks for it in a file (TEST_SUMMARY), to say it again as its last words.
 */
export class SummaryReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandled: readonly SerializedError[]): void {
    const tests = modules.flatMap((module) => [...module.children.allTests()])
    const unsteady = tests.filter((test) => test.result().state === 'passed' && test.diagnostic()?.flaky)
    const failed = tests.filter((test) => test.result().state === 'failed')
    const hooks = modules.flatMap((module) =>
      [module, ...module.children.allSuites()].flatMap((suite) =>
        suite.errors().map(({ message }) => `  ${module.relativeModuleId}\n    ${indented(message)}`),
      ),
    )
    const stray = unhandled.map(({ message }) => `  outside of any test\n    ${indented(message)}`)
    const summary = [
      section('passed only when tried again', unsteady.map(lineOf)),
      section('failed', [...failed.map(lineOf), ...hooks, ...stray]),
    ].join('')
    if (summary === '') return
    console.log(summary)
    if (process.env.TEST_SUMMARY) appendFileSync(process.env.TEST_SUMMARY, summary)
  }
}

/** Enough to know what happened. */
const MOST_LINES = 12
const indented = (message: string) => `${message.split('\n').slice(0, MOST_LINES).join('\n    ')}\n`

const section = (title: string, lines: readonly string[]) =>
  lines.length === 0 ? '' : `\n${lines.length} ${title}:\n${lines.join('')}`

function lineOf(test: TestCase): string {
  const errors = (test.result().errors ?? []).map(({ message }) => `    ${indented(message)}`)
  return `  ${test.module.relativeModuleId} > ${test.fullName}\n${errors.join('')}`
}
