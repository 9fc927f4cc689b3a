import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { mergeDefinitions } from './definitions.mjs'
import { readModels } from './models.mjs'
import { renderOpenApiData } from './openapi.mjs'
import { renderMessages } from './protobuf.mjs'
import { renderSchemas } from './schemas.mjs'
import { renderTypes } from './types.mjs'

const root = join(dirname(fileURLToPath(import.meta.url)), '../..')
const client = join(root, 'node_modules/@kubernetes/client-node')
const document = join(root, 'node_modules/@xdavidwu/kubernetes-client-typescript-fetch/swagger.json.unprocessed')

const swagger = JSON.parse(readFileSync(document, 'utf8'))
const definitions = mergeDefinitions(readModels(client), swagger, client)

const apiDirectory = join(root, 'src/api/generated')
mkdirSync(apiDirectory, { recursive: true })
for (const [file, text] of renderTypes(definitions)) writeFileSync(join(apiDirectory, file), text)
writeFileSync(join(apiDirectory, 'schemas.ts'), renderSchemas(definitions))

const openApiDirectory = join(root, 'src/openapi/generated')
mkdirSync(openApiDirectory, { recursive: true })
writeFileSync(join(openApiDirectory, 'openapi-data.ts'), renderOpenApiData(definitions, swagger))

const protobufDirectory = join(root, 'src/api/protobuf/generated')
mkdirSync(protobufDirectory, { recursive: true })
writeFileSync(
  join(protobufDirectory, 'messages.ts'),
  renderMessages(Object.keys(definitions), join(root, '.cache/tools')),
)
