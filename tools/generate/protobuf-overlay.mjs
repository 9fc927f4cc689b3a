/** Messages of group versions that helm does not know, in the form of the generated table. */
export const MESSAGES = {
  'io.k8s.kube-aggregator.pkg.apis.apiregistration.v1.APIService':
    'metadata=1 io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta,spec=2 .APIServiceSpec,status=3 .APIServiceStatus',
  'io.k8s.kube-aggregator.pkg.apis.apiregistration.v1.APIServiceCondition':
    'type=1 string,status=2 string,lastTransitionTime=3 time,reason=4~string,message=5~string',
  'io.k8s.kube-aggregator.pkg.apis.apiregistration.v1.APIServiceList':
    'metadata=1 io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta,items=2 [].APIService',
  'io.k8s.kube-aggregator.pkg.apis.apiregistration.v1.APIServiceSpec':
    'service=1 .ServiceReference,group=2~string,version=3~string,insecureSkipTLSVerify=4~bool,caBundle=5~bytes,' +
    'groupPriorityMinimum=7 int,versionPriority=8 int',
  'io.k8s.kube-aggregator.pkg.apis.apiregistration.v1.APIServiceStatus': 'conditions=1 [].APIServiceCondition',
  'io.k8s.kube-aggregator.pkg.apis.apiregistration.v1.ServiceReference': 'namespace=1~string,name=2~string,port=3 int',
}
