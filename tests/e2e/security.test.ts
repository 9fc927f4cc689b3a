import { generateKeyPairSync } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createCertificateSigningRequest } from '../../src/x509/certificate-signing-request.ts'
import { type Ran, runProgram, startTestCluster, type TestCluster } from '../tools/cluster.ts'
import { at, type Json } from '../tools/json.ts'
import { KUBECTL_VERSIONS, kubectl as kubectlOf, kubectlRunsHere } from '../tools/kubectl.ts'

/** Who may do what, as every kubectl that we promise to serve shows it. */

if (!kubectlRunsHere && process.env.CI) throw new Error('CI is set, but there is no kubectl for this machine')

let cluster: TestCluster
beforeAll(async () => {
  if (kubectlRunsHere) cluster = await startTestCluster({ store: 'memory' })
})
afterAll(async () => {
  await cluster?.[Symbol.asyncDispose]()
})

describe.runIf(kubectlRunsHere).each(KUBECTL_VERSIONS)('kubectl %s', (version) => {
  const shop = `shop-${version.replace('.', '-')}`
  // Before 1.28 it asks for versions of the API that v1.36 does not have.
  const knowsWhoami = Number(version.split('.')[1]) >= 28
  let binary: string

  beforeAll(async () => {
    binary = await kubectlOf(version)
    await ok(`create namespace ${shop}`)
    await until(`get serviceaccount default -n ${shop}`)
    await until(`auth can-i get pods --as ann -n ${shop}`, 1)
    await ok(`create rolebinding ann --clusterrole view --user ann -n ${shop}`)
    await until(`auth can-i list pods --as ann -n ${shop}`)
  })

  const kubectl = (line: string, env: NodeJS.ProcessEnv = cluster.env): Promise<Ran> =>
    runProgram(binary, line.split(' ').filter(Boolean), env, { cwd: cluster.folder })

  async function ok(line: string, env?: NodeJS.ProcessEnv): Promise<string> {
    const ran = await kubectl(line, env)
    if (ran.code !== 0) expect.fail(`kubectl ${line} ended with ${ran.code}:\n${ran.stdout}${ran.stderr}`)
    return ran.stdout
  }
  async function fails(line: string, env?: NodeJS.ProcessEnv): Promise<string> {
    const ran = await kubectl(line, env)
    if (ran.code === 0) expect.fail(`kubectl ${line} did not fail:\n${ran.stdout}`)
    return ran.stderr + ran.stdout
  }
  const json = async (line: string, env?: NodeJS.ProcessEnv) => JSON.parse(await ok(`${line} -o json`, env)) as Json

  /** The control loops start behind the API. */
  async function until(line: string, code = 0): Promise<void> {
    for (let attempt = 0; attempt < 100; attempt++) {
      if ((await kubectl(line)).code === code) return
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
    expect.fail(`kubectl ${line} never ended with ${code}`)
  }

  /** An environment in which kubectl has this token and nothing else. */
  async function withToken(token: string): Promise<NodeJS.ProcessEnv> {
    return withUser(await json('config view --raw'), { token }, 'token.kubeconfig')
  }

  function withUser(config: Json, user: object, name: string): NodeJS.ProcessEnv {
    const content = { ...config, users: [{ name: at(config, 'users.0.name'), user }] }
    const file = path.join(cluster.folder, name)
    writeFileSync(file, JSON.stringify(content))
    return { ...cluster.env, KUBECONFIG: file }
  }

  test('auth can-i', async () => {
    expect(await ok('auth can-i delete nodes')).toBe('yes\n')
    expect(await fails(`auth can-i get secrets --as ann -n ${shop}`)).toContain('no')
    expect(await ok(`auth can-i list pods --as ann -n ${shop}`)).toBe('yes\n')
    expect(await fails(`auth can-i get secrets --as ann -n ${shop}`)).toContain('no')
    expect(await fails('auth can-i list pods --as ann -n default')).toContain('no')
    expect(await ok('auth can-i get /version --as ann')).toBe('yes\n')
    expect(await ok(`auth can-i get pods --subresource=log --as ann -n ${shop}`)).toBe('yes\n')
  })

  test('auth can-i --list', async () => {
    expect(await ok('auth can-i --list')).toMatch(/^\*\.\* +\[\] +\[\] +\[\*\]/m)
    const list = await ok(`auth can-i --list --as ann -n ${shop}`)
    expect(list).toMatch(/^selfsubjectaccessreviews\.authorization\.k8s\.io +\[\] +\[\] +\[create\]/m)
    expect(list).toMatch(/^pods +\[\] +\[\] +\[get list watch\]/m)
    expect(list).not.toMatch(/^secrets /m)
  })

  test('acting as others', async () => {
    expect(await fails(`get secrets --as ann -n ${shop}`)).toContain(
      `secrets is forbidden: User "ann" cannot list resource "secrets" in API group "" in the namespace "${shop}"`,
    )
    expect(await ok(`get pods --as ann -n ${shop} -o name`)).toBe('')
    expect(await ok('get nodes --as ann --as-group system:masters -o name')).toBe('')
    expect(await fails(`get pods --as system:serviceaccount:${shop}:default -n ${shop}`)).toContain('forbidden')
  })

  test('create token, and be that account', async () => {
    await ok(`create serviceaccount robot -n ${shop}`)
    await ok(`create rolebinding robot --clusterrole edit --serviceaccount ${shop}:robot -n ${shop}`)
    await until(`auth can-i create configmaps --as system:serviceaccount:${shop}:robot -n ${shop}`)
    const env = await withToken((await ok(`create token robot -n ${shop} --duration 20m`)).trim())
    if (knowsWhoami) {
      const review = await json('auth whoami', env)
      expect(at(review, 'status.userInfo.username')).toBe(`system:serviceaccount:${shop}:robot`)
      expect(at(review, 'status.userInfo.groups')).toContain(`system:serviceaccounts:${shop}`)
    }
    await ok(`create configmap made --from-literal a=b -n ${shop}`, env)
    expect(await fails('create configmap made -n default', env)).toContain('forbidden')
    expect(await fails('get nodes', env)).toContain('forbidden')
    expect(await fails(`create rolebinding more --clusterrole cluster-admin --user eve -n ${shop}`, env)).toContain(
      'forbidden',
    )
    await ok(`delete serviceaccount robot -n ${shop}`)
    expect(await fails(`get configmaps -n ${shop}`, env)).toMatch(/Unauthorized|must be logged in/)
  })

  test('a token for somebody else, and a token that is none', async () => {
    await ok(`create serviceaccount other -n ${shop}`)
    const elsewhere = (await ok(`create token other -n ${shop} --audience vault`)).trim()
    expect(await fails(`get pods -n ${shop}`, await withToken(elsewhere))).toMatch(/Unauthorized|must be logged in/)
    expect(await fails(`get pods -n ${shop}`, await withToken('a.b.c'))).toMatch(/Unauthorized|must be logged in/)
    const bound = await json(`create token other -n ${shop} --bound-object-kind Secret --bound-object-name none`).catch(
      (error: Error) => error,
    )
    expect(String(bound)).toContain('not found')
  })

  test('auth reconcile', async () => {
    const role = (verbs: string[]) => ({
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'Role',
      metadata: { name: 'reconciled', namespace: shop },
      rules: [{ apiGroups: [''], resources: ['pods'], verbs }],
    })
    const file = path.join(cluster.folder, 'role.json')
    writeFileSync(file, JSON.stringify(role(['get'])))
    expect(await ok(`auth reconcile -f ${file}`)).toContain('role.rbac.authorization.k8s.io/reconciled reconciled')
    writeFileSync(file, JSON.stringify(role(['list'])))
    await ok(`auth reconcile -f ${file}`)
    const verbs = at(await json(`get role reconciled -n ${shop}`), 'rules') as { verbs: string[] }[]
    expect(verbs.flatMap((one) => one.verbs).sort()).toEqual(['get', 'list'])
  })

  test('certificate approve, and be who it names; certificate deny', async () => {
    const [good, bad] = [`good-${shop}`, `bad-${shop}`]
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    const key = privateKey.export({ type: 'pkcs8', format: 'pem' }) as string
    for (const name of [good, bad]) {
      const asked = createCertificateSigningRequest(key, { commonName: 'jane', organizations: ['guests'] })
      const spec = {
        request: Buffer.from(asked).toString('base64'),
        signerName: 'kubernetes.io/kube-apiserver-client',
        usages: ['client auth'],
      }
      const file = path.join(cluster.folder, `${name}.json`)
      const object = {
        apiVersion: 'certificates.k8s.io/v1',
        kind: 'CertificateSigningRequest',
        metadata: { name },
        spec,
      }
      writeFileSync(file, JSON.stringify(object))
      await ok(`create -f ${file}`)
    }
    expect(await fails(`certificate approve ${good} --as ann`)).toContain('forbidden')
    expect(await ok(`certificate approve ${good}`)).toContain(
      `certificatesigningrequest.certificates.k8s.io/${good} approved`,
    )
    expect(await ok(`certificate deny ${bad}`)).toContain(`certificatesigningrequest.certificates.k8s.io/${bad} denied`)
    expect(await ok(`get csr ${bad}`)).toMatch(/Denied/)
    let issued = ''
    for (let attempt = 0; issued === '' && attempt < 300; attempt++)
      issued = await ok(`get csr ${good} -o jsonpath={.status.certificate}`)
    const config = await json('config view --raw')
    const user = { 'client-certificate-data': issued, 'client-key-data': Buffer.from(key).toString('base64') }
    const env = withUser(config, user, 'jane.kubeconfig')
    expect(await fails(`get pods -n ${shop}`, env)).toContain('User "jane" cannot list resource "pods"')
    await ok(`create rolebinding guests --clusterrole view --group guests -n ${shop}`)
    expect(await ok(`get pods -n ${shop} -o name`, env)).toBe('')
  })

  test('the roles every cluster has', async () => {
    const names = await ok('get clusterroles -o name')
    for (const name of ['admin', 'edit', 'view', 'cluster-admin', 'system:discovery', 'system:node'])
      expect(names).toContain(`clusterrole.rbac.authorization.k8s.io/${name}\n`)
    expect(await ok('describe clusterrole view')).toMatch(/pods +\[\] +\[\] +\[get list watch\]/)
    expect(await ok('get clusterrolebinding cluster-admin -o wide')).toContain('system:masters')
  })
})
