// Package manifest reads the manifest of a campaign into the types of the Kubernetes API.
// It is a module of its own, so that sotto does not depend on them.
package manifest

import (
	"slices"
	"testing"

	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"sotto/reproduce"
	"sotto/reproduce/campaign"
)

func TestManifest(t *testing.T) {
	j := campaign.Job{Shards: 100, Parallel: 20, Cores: 2, MemoryGB: 8, Scale: reproduce.Short,
		Studies: []string{"seed003-figure1"}, Dir: "/a b", DataDir: "/data"}
	k := campaign.Kubernetes{Image: "a.example/sotto:1", Claim: "results", Data: "data", Retries: 3}
	b, err := j.Kubernetes(k)
	if err != nil {
		t.Fatal(err)
	}
	var job batch.Job
	if err := yaml.UnmarshalStrict(b, &job); err != nil { // unknown and double fields are errors
		t.Fatalf("%v\n%s", err, b)
	}
	s, pod := job.Spec, job.Spec.Template.Spec
	if job.APIVersion != "batch/v1" || job.Kind != "Job" || *s.CompletionMode != batch.IndexedCompletion ||
		*s.Completions != 100 || *s.Parallelism != 20 || *s.BackoffLimitPerIndex != 3 ||
		*s.MaxFailedIndexes != 100 || pod.RestartPolicy != core.RestartPolicyNever {
		t.Errorf("job %+v", s)
	}
	c := pod.Containers[0]
	if c.Command != nil || !slices.Equal(c.Args, j.Args()) || c.Image != k.Image ||
		c.Resources.Requests.Cpu().Value() != 2 || c.Resources.Limits.Memory().Value() != 8<<30 {
		t.Errorf("container %+v", c)
	}
	mounts := map[string]string{}
	for _, m := range c.VolumeMounts {
		mounts[m.MountPath] = m.Name
	}
	claims := map[string]string{}
	for _, v := range pod.Volumes {
		claims[v.Name] = v.PersistentVolumeClaim.ClaimName
	}
	if claims[mounts["/a b"]] != "results" || claims[mounts["/data"]] != "data" {
		t.Errorf("mounts %v, claims %v", mounts, claims)
	}
}
