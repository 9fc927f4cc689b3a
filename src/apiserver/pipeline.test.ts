import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { pipeline } from './pipeline.ts'

const stages = pipeline.map(({ name }) => name)
const read = (file: string) => readFileSync(new URL(file, import.meta.url), 'utf8')

describe('the pipeline', () => {
  it('is what the README of this room shows', () => {
    const listed = /<!-- pipeline -->([\s\S]*)<!-- \/pipeline -->/.exec(read('./README.md'))?.[1] ?? ''
    expect([...listed.matchAll(/^\d+\. `(\w+)`/gm)].map((match) => match[1])).toEqual(stages)
  })

  it('is what docs/ARCHITECTURE.md shows', () => {
    const text = read('../../docs/ARCHITECTURE.md')
    const names = text.slice(
      text.indexOf('the stages of apiserver/pipeline.ts'),
      text.indexOf(' handlers ---> registry'),
    )
    expect(names.match(/\b[a-z]+[A-Z]\w+\b|\b(?:measure|audit|authenticate|impersonate|authorize|route)\b/g)).toEqual(
      stages,
    )
  })

  it('shows a part of its stages in order in the README of the project', () => {
    const line = /^kubectl --TLS-->.*$/m.exec(read('../../README.md'))?.[0] ?? ''
    const shown = stages.filter((stage) => line.includes(` ${stage} `))
    expect(shown).toEqual(['authenticate', 'flowControl', 'authorize'])
    expect(shown.map((stage) => line.indexOf(stage))).toEqual(
      shown.map((stage) => line.indexOf(stage)).sort((a, b) => a - b),
    )
  })
})
