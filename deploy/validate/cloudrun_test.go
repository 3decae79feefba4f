package validate

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	run "google.golang.org/api/run/v1"
	"sigs.k8s.io/yaml"

	"github.com/seed829e008e/ebb/deploy"
)

// The job is one of Google's own type, with no field that it does not have; its settings and arguments arrive unchanged.
func TestCloudRunJob(t *testing.T) {
	for _, lines := range []string{"*/30 * * * *", "* * * * *", "0 12 15-21 * 2", "@daily", "0 6 * * *\nCRON_TZ=Europe/Berlin 30 18 * * MON-FRI"} {
		j := job(t, lines, rough()...)
		j.Args = []string{"run", "--queue", "email", "--"}
		for _, v := range rough() {
			j.Args = append(j.Args, v.Value)
		}
		files, err := deploy.CloudRun(j)
		if err != nil {
			t.Fatal(err)
		}
		plain, err := yaml.YAMLToJSONStrict([]byte(files[0].Content))
		if err != nil {
			t.Fatalf("%v\n%s", err, files[0].Content)
		}
		var made run.Job
		d := json.NewDecoder(bytes.NewReader(plain))
		d.DisallowUnknownFields()
		if err := d.Decode(&made); err != nil {
			t.Fatalf("%v\n%s", err, plain)
		}
		if made.ApiVersion != "run.googleapis.com/v1" || made.Kind != "Job" || made.Metadata.Name != "shop-jobs" {
			t.Errorf("it is %s %s %s", made.ApiVersion, made.Kind, made.Metadata.Name)
		}
		execution := made.Spec.Template.Spec
		task := execution.Template.Spec
		if execution.Parallelism != 1 || execution.TaskCount != 1 || !strings.Contains(string(plain), `"maxRetries":0`) || len(task.Containers) != 1 {
			t.Errorf("%s", plain)
		}
		c := task.Containers[0]
		if c.Image != j.Image || !slices.Equal(c.Args, j.Args) || len(c.Command) != 0 {
			t.Errorf("%s, %q", c.Image, c.Args)
		}
		env := map[string]string{}
		for _, v := range c.Env {
			if _, twice := env[v.Name]; twice {
				t.Errorf("%s is there twice", v.Name)
			}
			if env[v.Name] = v.Value; v.ValueFrom != nil {
				env[v.Name] = "secret " + v.ValueFrom.SecretKeyRef.Name + " " + v.ValueFrom.SecretKeyRef.Key
			}
		}
		for _, v := range append(j.Settings, deploy.Variable{Name: "DATABASE_URL", Value: "secret shop-jobs latest"}) {
			if env[v.Name] != v.Value {
				t.Errorf("%s is %q, want %q", v.Name, env[v.Name], v.Value)
			}
		}
		budget, err := time.ParseDuration(env["EBB_MAX_RUNTIME"])
		if timeout := time.Duration(task.TimeoutSeconds) * time.Second; err != nil || budget >= timeout || timeout > 168*time.Hour {
			t.Errorf("EBB_MAX_RUNTIME %v, a timeout of %v, %v", budget, timeout, err)
		}
	}
}
