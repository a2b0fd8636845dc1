package campaign

import (
	"bytes"
	"fmt"
	"path"
	"regexp"
	"strings"
	"text/template"
	"unicode"

	"sotto/config"
	"sotto/reproduce"
)

// Job says how a cluster runs a campaign.
type Job struct {
	Shards   int // processes, 1 to 100,000
	Parallel int // of them at the same time; 0: all
	Cores    int // of each, and how many runs it makes at the same time
	MemoryGB int // of each
	Scale    reproduce.Scale
	Studies  []string
	Dir      string // of the campaign, on a file system that all processes see
	DataDir  string // of the data sets, likewise
}

// Slurm is what a job array has besides.
type Slurm struct {
	Hours     int    // after which a process is stopped; it goes on when the array is sent again
	Partition string // empty: the cluster's own choice
}

// Kubernetes is what an indexed job has besides.
type Kubernetes struct {
	Image   string // whose entry point is sotto, as that of deploy/Containerfile
	Claim   string // persistent volume claim that is mounted at Dir
	Data    string // persistent volume claim that is mounted at DataDir
	Retries int    // of each process
}

const maxShards = 100_000

// name is what a claim, an image or a partition may be called: nothing that ends a word
// of a shell or of YAML.
var name = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:/@-]*$`)

type number struct {
	key         string
	value       int
	least, most int
}

// validate refuses numbers out of range, of the job and of a kind of it, and paths that
// could end a word of a shell.
func (j *Job) validate(more number) error {
	for _, n := range []number{
		{"shards", j.Shards, 1, maxShards}, {"parallel", j.Parallel, 0, maxShards},
		{"cores", j.Cores, 1, 1024}, {"memory", j.MemoryGB, 1, 65_536}, more,
	} {
		if n.value < n.least || n.value > n.most {
			return config.Bad(n.key, n.value, fmt.Sprintf("%d to %d", n.least, n.most))
		}
	}
	for _, s := range []struct{ key, value string }{{"dir", j.Dir}, {"data-dir", j.DataDir}} {
		if !strings.HasPrefix(s.value, "/") || strings.ContainsAny(s.value, "'\"\\") ||
			strings.ContainsFunc(s.value, unicode.IsControl) {
			return config.Bad(s.key, s.value, "an absolute path without quotes, backslashes and line breaks")
		}
	}
	return nil
}

func word(key, value string) error {
	if !name.MatchString(value) {
		return config.Bad(key, value, "letters, digits and . _ : / @ -, a letter or digit first")
	}
	return nil
}

// Args are the arguments of the program in every process; the number of a process comes
// from the environment of the array.
func (j Job) Args() []string {
	return append(j.common("run"), "--workers", fmt.Sprint(j.Cores))
}

// Merge are the arguments of the program that joins the rows of all processes.
func (j Job) Merge() []string { return j.common("merge") }

func (j *Job) common(command string) []string {
	a := []string{"reproduce", "campaign", command, "--scale", string(j.Scale), "--shards",
		fmt.Sprint(j.Shards), "--dir", j.Dir, "--data-dir", j.DataDir}
	if len(j.Studies) > 0 {
		a = append(a, "--studies", strings.Join(j.Studies, ","))
	}
	return a
}

// Last is the number of the last process.
func (j Job) Last() int { return j.Shards - 1 }

// AtOnce is how many processes run at the same time.
func (j Job) AtOnce() int {
	if j.Parallel == 0 {
		return j.Shards
	}
	return min(j.Parallel, j.Shards)
}

// quoted are words of a shell.
func quoted(words []string) string {
	var b strings.Builder
	for i, w := range words {
		if i > 0 {
			b.WriteByte(' ')
		}
		if !name.MatchString(w) && !strings.HasPrefix(w, "--") {
			w = "'" + w + "'" // validate refuses quotes
		}
		b.WriteString(w)
	}
	return b.String()
}

// literal is an argument that Kubernetes, which puts variables of the environment in the
// place of $(NAME) and one dollar in that of two, gives as it is.
func literal(arg string) string { return strings.ReplaceAll(arg, "$", "$$") }

var templates = template.Must(template.New("").Funcs(template.FuncMap{"quoted": quoted,
	"literal": literal}).Parse(`
{{- define "slurm" -}}
#!/bin/sh
# Every process makes one run in {{.Shards}} of the campaign. Send the script again to go on
# where processes were stopped; rows that are there are kept. When all have ended:
#   sotto {{quoted .Merge}}
#SBATCH --job-name=sotto
#SBATCH --array=0-{{.Last}}%{{.AtOnce}}
#SBATCH --cpus-per-task={{.Cores}}
#SBATCH --mem={{.MemoryGB}}G
#SBATCH --time={{.Array.Hours}}:00:00
{{- if .Array.Partition}}
#SBATCH --partition={{.Array.Partition}}
{{- end}}
#SBATCH --requeue
exec sotto {{quoted .Args}}
{{end -}}
{{- define "kubernetes" -}}
# Every pod makes one run in {{.Shards}} of the campaign. A pod that is lost starts again and
# keeps the rows that are there. When the job is complete:
#   sotto {{quoted .Merge}}
apiVersion: batch/v1
kind: Job
metadata:
  name: sotto
spec:
  completionMode: Indexed
  completions: {{.Shards}}
  parallelism: {{.AtOnce}}
  backoffLimitPerIndex: {{.Pod.Retries}}
  maxFailedIndexes: {{.Shards}}
  template:
    spec:
      restartPolicy: Never
      containers:
        - name: sotto
          image: "{{.Pod.Image}}"
          args:
{{- range .Args}}
            - "{{literal .}}"
{{- end}}
          resources:
            requests:
              cpu: "{{.Cores}}"
              memory: {{.MemoryGB}}Gi
            limits:
              memory: {{.MemoryGB}}Gi
          volumeMounts:
            - name: results
              mountPath: "{{.Dir}}"
            - name: data
              mountPath: "{{.DataDir}}"
              readOnly: true
      volumes:
        - name: results
          persistentVolumeClaim:
            claimName: "{{.Pod.Claim}}"
        - name: data
          persistentVolumeClaim:
            claimName: "{{.Pod.Data}}"
            readOnly: true
{{end -}}`))

// Slurm is a script for sbatch: an array of processes. Errors are *config.Error.
func (j Job) Slurm(s Slurm) ([]byte, error) {
	err := j.validate(number{"hours", s.Hours, 1, 24 * 365})
	if err == nil && s.Partition != "" {
		err = word("partition", s.Partition)
	}
	if err != nil {
		return nil, err
	}
	return fill("slurm", struct {
		Job
		Array Slurm
	}{j, s})
}

// Kubernetes is the manifest of an indexed job. Errors are *config.Error.
func (j Job) Kubernetes(k Kubernetes) ([]byte, error) {
	if err := j.validate(number{"retries", k.Retries, 0, 1000}); err != nil {
		return nil, err
	}
	switch dir, data := path.Clean(j.Dir), path.Clean(j.DataDir); {
	case strings.Contains(dir, ":"): // the API refuses such a mount
		return nil, config.Bad("dir", j.Dir, "a path without a colon")
	case strings.Contains(data, ":"):
		return nil, config.Bad("data-dir", j.DataDir, "a path without a colon")
	case dir == data:
		return nil, config.Bad("data-dir", j.DataDir, "another folder than that of the campaign")
	}
	for _, w := range []struct{ key, value string }{
		{"image", k.Image}, {"claim", k.Claim}, {"data-claim", k.Data}} {
		if err := word(w.key, w.value); err != nil {
			return nil, err
		}
	}
	return fill("kubernetes", struct {
		Job
		Pod Kubernetes
	}{j, k})
}

func fill(kind string, values any) ([]byte, error) {
	var b bytes.Buffer
	err := templates.ExecuteTemplate(&b, kind, values)
	return b.Bytes(), err
}
