import { describeRules, describeUpdateRules } from '../core/rules.contract.ts'
import { runtimeClassKind } from './runtime-class.ts'

describeRules(
  runtimeClassKind,
  { metadata: { name: 'a' }, handler: 'runsc', overhead: { podFixed: { memory: '1Mi' } } },
  [
    [
      'no handler',
      (draft) => {
        draft.handler = ''
      },
      'handler: Required value',
    ],
    [
      'overhead of nothing real',
      (draft) => {
        draft.overhead = { podFixed: { stars: '1' } }
      },
      'overhead.podFixed[stars]: Invalid value: "stars": must be a standard resource type or fully qualified',
      'overhead.podFixed[stars]: Invalid value: "stars": must be a standard resource for containers',
    ],
    [
      'the same toleration twice',
      (draft) => {
        draft.scheduling = { tolerations: [{ key: 'a' }, { key: 'a' }] }
      },
      'scheduling.tolerations[1]: Duplicate value: {"key":"a"}',
    ],
  ],
)

describeUpdateRules(runtimeClassKind, { metadata: { name: 'a' }, handler: 'runsc' }, [
  [
    'another handler',
    (draft) => {
      draft.handler = 'kata'
    },
    'handler: Invalid value: "kata": field is immutable',
  ],
])
