import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/**
 * Reads the v1.36 models of `@kubernetes/client-node`: which types and fields exist, their types, which are required,
 * and what they mean. The files are read as text: importing 750 modules takes seconds, reading them a tenth of one.
 */
export function readModels(packageDirectory) {
  const directory = join(packageDirectory, 'dist/gen/models')
  const models = new Map()
  for (const name of listedModels(directory)) {
    const fields = attributeTypes(readFileSync(join(directory, `${name}.js`), 'utf8'))
    if (fields === undefined) continue
    models.set(name, withDeclarations(fields, readFileSync(join(directory, `${name}.d.ts`), 'utf8')))
  }
  return models
}

/** The directory also holds files of former releases; what the serializer exports is what v1.36 has. */
function listedModels(directory) {
  const source = readFileSync(join(directory, 'ObjectSerializer.js'), 'utf8')
  return [...source.matchAll(/^export \* from '\.\.\/models\/(\w+)\.js'/gm)].map((match) => match[1])
}

function attributeTypes(source) {
  const start = source.indexOf('.attributeTypeMap = [')
  if (start < 0) return undefined
  const text = source.slice(source.indexOf('[', start), source.indexOf('\n];', start) + 2)
  return JSON.parse(text).map(({ baseName, type, format }) => ({ name: baseName, type, format }))
}

const DECLARATION = /(?:\/\*\*\n((?:\s*\*(?!\/).*\n)*)\s*\*\/\n\s*)?'([^']+)'(\?)?: /g

function withDeclarations(fields, source) {
  const start = source.indexOf('export declare class')
  const end = source.indexOf('static readonly discriminator')
  const declared = [...source.slice(start, end).matchAll(DECLARATION)]
  if (declared.length !== fields.length)
    throw new Error(`cannot read the declarations of ${source.slice(start, start + 60)}`)
  return {
    description: comment(source.slice(source.lastIndexOf('/**', start), start)),
    fields: fields.map((field, i) => ({
      ...field,
      required: declared[i][3] === undefined,
      description: comment(declared[i][1] ?? ''),
    })),
  }
}

/** The text of a doc comment, with the generator's escapes undone. */
function comment(text) {
  return text
    .split('\n')
    .map((line) => line.replace(/^\s*(\/\*\*|\*\/|\*)\s?/, ''))
    .join('\n')
    .replaceAll('*_/', '*/')
    .replaceAll(/\\(['"\\])/g, '$1')
    .replaceAll('&#39;', "'")
    .replaceAll('&quot;', '"')
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&#x60;', '`')
    .replaceAll('&#x3D;', '=')
    .replaceAll('&amp;', '&')
    .trim()
}
