package main

import (
	"maps"
	"net/netip"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/comanda-dev/comanda/app/boot"
	"github.com/comanda-dev/comanda/app/dev/localca"
)

// manifests are the objects of deploy/kubernetes, by kind and name.
type manifests map[string]runtime.Object

// kubernetes builds deploy/kubernetes as `kubectl apply -k` does. Like the API server, it refuses unknown and duplicate
// fields and wrong types.
func kubernetes(t *testing.T) manifests {
	t.Helper()
	options := krusty.MakeDefaultOptions()
	built, err := krusty.MakeKustomizer(options).Run(filesys.MakeFsOnDisk(), "../../../deploy/kubernetes")
	if err != nil {
		t.Fatal(err)
	}
	decoder := serializer.NewCodecFactory(scheme.Scheme, serializer.EnableStrict).UniversalDeserializer()
	objects := manifests{}
	for _, resource := range built.Resources() {
		text, err := resource.AsYAML()
		if err != nil {
			t.Fatal(err)
		}
		object, kind, err := decoder.Decode(text, nil, nil)
		if err != nil {
			t.Errorf("%s %s: %v", resource.GetKind(), resource.GetName(), err)
			continue
		}
		objects[kind.Kind+"/"+resource.GetName()] = object
		if kind.Kind != "Namespace" && resource.GetNamespace() != "comanda" {
			t.Errorf("%s %s: got namespace %q, want comanda", kind.Kind, resource.GetName(), resource.GetNamespace())
		}
	}
	if t.Failed() {
		t.FailNow()
	}
	return objects
}

// get returns the object of a kind with a name.
func get[T runtime.Object](t *testing.T, objects manifests, id string) T {
	t.Helper()
	object, ok := objects[id].(T)
	if !ok {
		t.Fatalf("%s is missing or has another version; there are %v", id, slices.Sorted(maps.Keys(objects)))
	}
	return object
}

// pods returns the pods of all workloads, by the name of the workload.
func (m manifests) pods() map[string]corev1.PodTemplateSpec {
	pods := map[string]corev1.PodTemplateSpec{}
	for _, object := range m {
		switch workload := object.(type) {
		case *appsv1.Deployment:
			pods[workload.Name] = workload.Spec.Template
		case *batchv1.Job:
			pods[workload.Name] = workload.Spec.Template
		}
	}
	return pods
}

// environ returns the environment of the first container of a pod, with the files of its secrets replaced by values, or
// by files of the test.
func (m manifests) environ(t *testing.T, pod corev1.PodTemplateSpec) map[string]string {
	t.Helper()
	environ := map[string]string{}
	for _, source := range pod.Spec.Containers[0].EnvFrom {
		maps.Copy(environ, get[*corev1.ConfigMap](t, m, "ConfigMap/"+source.ConfigMapRef.Name).Data)
	}
	for _, variable := range pod.Spec.Containers[0].Env {
		environ[variable.Name] = variable.Value
	}
	const database = "@db:5432/comanda?sslmode=verify-full"
	for name, secret := range map[string]struct{ volume, value string }{
		"DATABASE_URL":                {"database", "postgres://comanda_serve:serve" + database},
		"COMANDA_SYSTEM_DATABASE_URL": {"database", "postgres://comanda_serve_system:system" + database},
		"COMANDA_SECRET_KEYS":         {"secrets", strings.Repeat("0123456789abcdef", 4)},
	} {
		if file, ok := environ[name+"_FILE"]; ok {
			if want := "/" + secret.volume + "/" + name; file != want {
				t.Errorf("%s_FILE: got %s, want %s", name, file, want)
			}
			delete(environ, name+"_FILE")
			environ[name] = secret.value
		}
	}
	files, err := localca.Open(t.TempDir(), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	for name, file := range map[string]struct{ want, is string }{
		"TEMPORAL_TLS_SERVER_CA_CERT_PATH": {"/temporal/ca.crt", files.CA},
		"TEMPORAL_TLS_CLIENT_CERT_PATH":    {"/temporal/tls.crt", files.Cert},
		"TEMPORAL_TLS_CLIENT_KEY_PATH":     {"/temporal/tls.key", files.Key},
	} {
		if path, ok := environ[name]; ok {
			if path != file.want {
				t.Errorf("%s: got %s, want %s", name, path, file.want)
			}
			environ[name] = file.is
		}
	}
	return environ
}

func TestKubernetesWorkloads(t *testing.T) {
	t.Parallel()
	pods := kubernetes(t).pods()
	want := []string{"comanda-migrate", "comanda-serve", "comanda-worker"}
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(pods))); diff != "" {
		t.Fatalf("workloads (-want +got):\n%s", diff)
	}
	for name, pod := range pods {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			spec := pod.Spec
			// The rules of the Pod Security Standard "restricted", which the namespace enforces.
			security := spec.SecurityContext
			if security == nil || security.RunAsNonRoot == nil || !*security.RunAsNonRoot ||
				security.SeccompProfile.Type != corev1.SeccompProfileTypeRuntimeDefault {
				t.Errorf("security context of the pod: got %v, want non-root and the default seccomp profile", security)
			}
			if *security.RunAsUser != 65532 {
				t.Errorf("user: got %d, want 65532, the user of the Dockerfile", *security.RunAsUser)
			}
			if *spec.AutomountServiceAccountToken || *spec.EnableServiceLinks {
				t.Error("got a token of the Kubernetes API or service links, want none")
			}
			container := spec.Containers[0].SecurityContext
			if *container.AllowPrivilegeEscalation || !*container.ReadOnlyRootFilesystem ||
				!cmp.Equal(container.Capabilities.Drop, []corev1.Capability{"ALL"}) {
				t.Errorf("security context of the container: got %v, want read-only and no capabilities", container)
			}
			resources := spec.Containers[0].Resources
			if resources.Requests.Cpu().IsZero() || resources.Limits.Memory().IsZero() {
				t.Errorf("resources: got %v, want requests and limits", resources)
			}
			mounts := map[string]bool{}
			for _, mount := range spec.Containers[0].VolumeMounts {
				mounts[mount.Name] = mount.ReadOnly
			}
			for _, volume := range spec.Volumes {
				if !mounts[volume.Name] || volume.Secret == nil {
					t.Errorf("volume %s: got %v, want a secret that is mounted read-only", volume.Name, volume)
				}
			}
		})
	}
}

// API, worker and migrations have different logins.
func TestKubernetesLogins(t *testing.T) {
	t.Parallel()
	for name, pod := range kubernetes(t).pods() {
		want := map[string]string{
			"comanda-migrate": "comanda-owner", "comanda-serve": "comanda-serve", "comanda-worker": "comanda-worker",
		}[name]
		var got string
		for _, mount := range pod.Spec.Containers[0].VolumeMounts {
			for _, volume := range pod.Spec.Volumes {
				if mount.MountPath == "/database" && mount.Name == volume.Name {
					got = volume.Secret.SecretName
				}
			}
		}
		if got != want {
			t.Errorf("%s: got the secret %q at /database, want %q", name, got, want)
		}
	}
}

// The processes accept the variables that they get.
func TestKubernetesEnvironment(t *testing.T) {
	t.Parallel()
	objects := kubernetes(t)
	pods := objects.pods()
	for name, pod := range pods {
		if err := boot.CheckVariables(objects.environ(t, pod)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, name := range []string{"comanda-serve", "comanda-worker"} {
		environ, mounted := objects.environ(t, pods[name]), ""
		for _, mount := range pods[name].Spec.Containers[0].VolumeMounts {
			if mount.MountPath == "/temporal" {
				mounted = mount.Name
			}
		}
		if environ["TEMPORAL_TLS"] != "true" || environ["TEMPORAL_TLS_CLIENT_KEY_PATH"] == "" || mounted != "temporal" {
			t.Errorf("%s does not use TLS with both certificates for Temporal", name)
		}
	}
	if _, err := boot.Load(objects.environ(t, pods["comanda-worker"]), boot.Worker); err != nil {
		t.Errorf("worker: %v", err)
	}
	api := objects.environ(t, pods["comanda-serve"])
	delete(api, "COMANDA_TLS_CERT") // the files are not there
	delete(api, "COMANDA_TLS_KEY")
	api["COMANDA_TRUSTED_PROXIES"] = "127.0.0.1"
	if _, err := boot.Load(api, boot.API); err != nil {
		t.Errorf("serve: %v", err)
	}
}

// Probes and Services use the ports on which the processes listen, and selectors find the pods.
func TestKubernetesReferences(t *testing.T) {
	t.Parallel()
	objects := kubernetes(t)
	pods := objects.pods()
	finds := func(what string, selector *metav1.LabelSelector) {
		t.Helper()
		matcher, err := metav1.LabelSelectorAsSelector(selector)
		if err != nil {
			t.Errorf("%s: %v", what, err)
			return
		}
		for _, pod := range pods {
			if matcher.Matches(labels.Set(pod.Labels)) {
				return
			}
		}
		t.Errorf("%s: the selector %s matches no pod", what, matcher)
	}
	scaled := map[string]bool{}
	for id, object := range objects {
		switch object := object.(type) {
		case *corev1.Service:
			finds(id, &metav1.LabelSelector{MatchLabels: object.Spec.Selector})
		case *appsv1.Deployment:
			finds(id, object.Spec.Selector)
			if object.Spec.Replicas != nil {
				t.Errorf("%s: got %d replicas, want none: the autoscaler sets them", id, *object.Spec.Replicas)
			}
		case *policyv1.PodDisruptionBudget:
			finds(id, object.Spec.Selector)
		case *networkingv1.NetworkPolicy:
			finds(id, &object.Spec.PodSelector)
		case *autoscalingv2.HorizontalPodAutoscaler:
			scaled[object.Spec.ScaleTargetRef.Kind+"/"+object.Spec.ScaleTargetRef.Name] = true
			if *object.Spec.MinReplicas < 2 {
				t.Errorf("%s: got at least %d replicas, want two", id, *object.Spec.MinReplicas)
			}
		}
	}
	for _, name := range []string{"comanda-serve", "comanda-worker"} {
		container := pods[name].Spec.Containers[0]
		ports := map[string]int32{}
		for _, port := range container.Ports {
			ports[port.Name] = port.ContainerPort
		}
		environ := objects.environ(t, pods[name])
		want := map[string]int32{"admin": 8444}
		if environ["COMANDA_ADMIN_LISTEN"] != ":8444" {
			t.Errorf("%s: COMANDA_ADMIN_LISTEN: got %q, want :8444", name, environ["COMANDA_ADMIN_LISTEN"])
		}
		if name == "comanda-serve" {
			want["https"] = 8443
			if environ["COMANDA_LISTEN"] != ":8443" {
				t.Errorf("COMANDA_LISTEN: got %q, want :8443", environ["COMANDA_LISTEN"])
			}
		}
		if diff := cmp.Diff(want, ports); diff != "" {
			t.Errorf("%s: ports (-want +got):\n%s", name, diff)
		}
		for path, probes := range map[string][]*corev1.Probe{
			"/readyz": {container.StartupProbe, container.ReadinessProbe}, "/healthz": {container.LivenessProbe},
		} {
			for _, probe := range probes {
				if probe.HTTPGet.Path != path || probe.HTTPGet.Port.StrVal != "admin" {
					t.Errorf("%s: got a probe of %v, want %s on the port admin", name, probe.HTTPGet, path)
				}
			}
		}
		if !scaled["Deployment/"+name] {
			t.Errorf("%s: no autoscaler", name)
		}
	}
	service := get[*corev1.Service](t, objects, "Service/comanda-serve")
	if got := service.Spec.Ports[0].TargetPort.StrVal; got != "https" {
		t.Errorf("Service: got the target port %q, want https", got)
	}
}

// Processes that reach public addresses do not reach those of the cluster and its cloud.
func TestKubernetesEgress(t *testing.T) {
	t.Parallel()
	objects := kubernetes(t)
	for _, name := range []string{"comanda-serve", "comanda-worker"} {
		var permitted []string
		for _, rule := range get[*networkingv1.NetworkPolicy](t, objects, "NetworkPolicy/"+name).Spec.Egress {
			for _, address := range []string{
				"10.0.0.1", "100.64.0.1", "127.0.0.1", "168.63.129.16", "169.254.169.254", "172.16.0.1", "192.168.0.1", "::1",
				"fd00::1", "fe80::1", "203.0.113.7", "2001:db8::1",
			} {
				if permits(rule, netip.MustParseAddr(address)) {
					permitted = append(permitted, address)
				}
			}
		}
		if diff := cmp.Diff([]string{"203.0.113.7", "2001:db8::1"}, permitted); diff != "" {
			t.Errorf("%s: addresses that the NetworkPolicy permits (-want +got):\n%s", name, diff)
		}
	}
}

// permits reports whether a rule names an address.
func permits(rule networkingv1.NetworkPolicyEgressRule, address netip.Addr) bool {
	contains := func(prefix string) bool { return netip.MustParsePrefix(prefix).Contains(address) }
	return slices.ContainsFunc(rule.To, func(peer networkingv1.NetworkPolicyPeer) bool {
		block := peer.IPBlock
		return block != nil && contains(block.CIDR) && !slices.ContainsFunc(block.Except, contains)
	})
}

// The workers scale by a documented metric, and the README names each secret that the pods mount.
func TestKubernetesDocuments(t *testing.T) {
	t.Parallel()
	objects := kubernetes(t)
	metrics, err := os.ReadFile("../../../docs/operating-webhooks.md")
	if err != nil {
		t.Fatal(err)
	}
	metric := get[*autoscalingv2.HorizontalPodAutoscaler](t, objects, "HorizontalPodAutoscaler/comanda-worker").
		Spec.Metrics[0].External.Metric
	documented := regexp.MustCompile("(?m)^\\| `" + metric.Name + "` \\| gauge; `queue`:.*`" +
		metric.Selector.MatchLabels["queue"] + "`")
	if !documented.Match(metrics) {
		t.Errorf("docs/operating-webhooks.md does not describe %s with the label %v",
			metric.Name, metric.Selector.MatchLabels)
	}
	readme, err := os.ReadFile("../../../deploy/kubernetes/README.md")
	if err != nil {
		t.Fatal(err)
	}
	for name, pod := range objects.pods() {
		for _, volume := range pod.Spec.Volumes {
			creates := regexp.MustCompile(`create secret (generic|tls) ` + volume.Secret.SecretName + ` `)
			if !creates.Match(readme) {
				t.Errorf("%s: README.md does not create the secret %s", name, volume.Secret.SecretName)
			}
		}
	}
}
