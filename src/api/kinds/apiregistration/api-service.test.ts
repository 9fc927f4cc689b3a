import { describe, expect, it } from 'vitest'
import type { APIService } from '../../generated/apiregistration-v1.ts'
import { cells, describeRules } from '../core/rules.contract.ts'
import { apiServiceKind } from './api-service.ts'

const service = (): APIService => ({
  metadata: { name: 'v1.example.com' },
  spec: {
    group: 'example.com',
    version: 'v1',
    groupPriorityMinimum: 1000,
    versionPriority: 15,
    service: { namespace: 'shop', name: 'api' },
  },
})

describeRules(apiServiceKind, service(), [
  [
    'another name',
    (draft) => {
      draft.metadata.name = 'v2.example.com'
    },
    'metadata.name: Invalid value: "v2.example.com": must be `spec.version+"."+spec.group`: "v1.example.com"',
  ],
  [
    'priorities out of range',
    (draft) => Object.assign(draft.spec!, { groupPriorityMinimum: 0, versionPriority: 1001 }),
    'spec.groupPriorityMinimum: Invalid value: 0: must be positive and less than 20000',
    'spec.versionPriority: Invalid value: 1001: must be positive and less than 1000',
  ],
  [
    'a bundle and no verification',
    (draft) => Object.assign(draft.spec!, { caBundle: 'AAEC', insecureSkipTLSVerify: true }),
    'spec.insecureSkipTLSVerify: Invalid value: true: may not be true if caBundle is present',
  ],
  [
    'a bundle for a local group',
    (draft) => {
      draft.spec!.caBundle = 'AAEC'
      delete draft.spec!.service
    },
    'spec.caBundle: Invalid value: "3 bytes": local APIServices may not have a caBundle',
  ],
  [
    'a service without name, at a wrong port',
    (draft) => {
      draft.spec!.service = { namespace: 'shop', port: 70000 }
    },
    'spec.service.name: Required value',
    'spec.service.port: Invalid value: 70000: port is not valid: must be between 1 and 65535, inclusive',
  ],
])

describe('APIService', () => {
  it('of a local group is available at once', () => {
    const draft = service()
    delete draft.spec!.service
    apiServiceKind.prepareCreate?.(draft)
    expect(cells(apiServiceKind, draft, 0)).toMatchObject({ Service: 'Local', Available: 'True' })
  })
  it.each([
    [undefined, 'Unknown'],
    [{ type: 'Available', status: 'False', reason: 'MissingEndpoints' }, 'False (MissingEndpoints)'],
  ])('with condition %j', (condition, expected) => {
    const object: APIService = { ...service(), status: { conditions: condition ? [condition] : [] } }
    expect(cells(apiServiceKind, object, 0)).toMatchObject({ Service: 'shop/api', Available: expected })
  })
})
