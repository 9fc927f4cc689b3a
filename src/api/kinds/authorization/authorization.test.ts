import { describeRules } from '../core/rules.contract.ts'
import { localSubjectAccessReviewKind, selfSubjectAccessReviewKind, subjectAccessReviewKind } from './reviews.ts'

const resourceAttributes = { verb: 'get', resource: 'pods', namespace: 'shop' }

describeRules(subjectAccessReviewKind, { metadata: {}, spec: { user: 'ann', resourceAttributes } }, [
  [
    'nobody asks about nothing',
    (draft) => {
      draft.spec = {}
    },
    'spec.resourceAttributes: Invalid value: null: exactly one of nonResourceAttributes or resourceAttributes must be specified',
    'spec.user: Invalid value: "": at least one of user or group must be specified',
  ],
])

describeRules(selfSubjectAccessReviewKind, { metadata: {}, spec: { resourceAttributes } }, [
  [
    'a resource and a path',
    (draft) => {
      draft.spec.nonResourceAttributes = { path: '/' }
    },
    'spec.nonResourceAttributes: Invalid value: {"path":"/"}: cannot be specified in combination with resourceAttributes',
  ],
  [
    'an empty selector',
    (draft) => {
      draft.spec.resourceAttributes = { fieldSelector: {} }
    },
    'spec.resourceAttributes.fieldSelector.requirements: Required value: when spec.resourceAttributes.fieldSelector is specified, requirements or rawSelector is required',
  ],
])

describeRules(
  localSubjectAccessReviewKind,
  { metadata: { namespace: 'shop' }, spec: { user: 'ann', resourceAttributes } },
  [
    [
      'about another namespace',
      (draft) => {
        draft.metadata.namespace = 'other'
      },
      'spec.resourceAttributes.namespace: Invalid value: "shop": must match metadata.namespace',
    ],
  ],
)
