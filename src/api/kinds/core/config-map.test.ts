import { configMapKind } from './config-map.ts'
import { describeRules, describeUpdateRules } from './rules.contract.ts'

const KEY_RULE =
  "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')"

describeRules(configMapKind, { metadata: { name: 'a' }, data: { 'app.conf': 'x=1' }, binaryData: { logo: 'AAEC' } }, [
  ['no data at all', (draft) => delete draft.data],
  [
    'a key with a slash',
    (draft) => {
      draft.data = { 'a/b': '' }
    },
    `data[a/b]: Invalid value: "a/b": ${KEY_RULE}`,
  ],
  [
    'one key in both',
    (draft) => {
      draft.data = { logo: '' }
    },
    'data[logo]: Invalid value: "logo": duplicate of key present in binaryData',
  ],
  [
    'binary data that is no base64',
    (draft) => {
      draft.binaryData = { logo: 'A=A' }
    },
    'binaryData[logo]: Invalid value: "A=A": illegal base64 data',
  ],
  [
    'more than a megabyte',
    (draft) => {
      draft.data = { big: 'x'.repeat(1024 * 1024) }
    },
    ': Too long: may not be more than 1048576 bytes',
  ],
])

const IMMUTABLE = 'Forbidden: field is immutable when `immutable` is set'
describeUpdateRules(configMapKind, { metadata: { name: 'a' }, data: { a: '1' }, immutable: true }, [
  [
    'labels of an immutable one',
    (draft) => {
      draft.metadata.labels = { a: 'b' }
    },
  ],
  [
    'data of an immutable one',
    (draft) => {
      draft.data = { a: '2' }
    },
    `data: ${IMMUTABLE}`,
  ],
  [
    'making it mutable again',
    (draft) => {
      draft.immutable = false
      draft.binaryData = { x: 'AAEC' }
    },
    `immutable: ${IMMUTABLE}`,
    `binaryData: ${IMMUTABLE}`,
  ],
])
