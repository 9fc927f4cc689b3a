/** npm run house-rules: prints every broken rule as file:line and what to do about it. */
import { ROOT } from '../steps.mjs'
import { problemsOf } from './rules.mjs'
import { readTree } from './sources.mjs'

const problems = problemsOf(readTree(ROOT))
for (const { file, line, rule, message } of problems) console.error(`${file}:${line}  [${rule}] ${message}`)
if (problems.length > 0) {
  console.error(
    `\n${problems.length} house rule${problems.length > 1 ? 's' : ''} broken; CONTRIBUTING.md says why they are there`,
  )
  process.exitCode = 1
}
