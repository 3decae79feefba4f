package validate

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/awslabs/goformation/v7"
	"github.com/awslabs/goformation/v7/intrinsics"
	"github.com/awslabs/goformation/v7/schema"
	"github.com/santhosh-tekuri/jsonschema/v5"

	"github.com/seed829e008e/ebb/deploy"
	"github.com/seed829e008e/ebb/schedule"
)

// job is one for the functions, with settings that try to break out of the file that holds them.
func job(t *testing.T, lines string, settings ...deploy.Variable) deploy.Job {
	t.Helper()
	set, err := schedule.ParseLines(lines)
	if err != nil {
		t.Fatal(err)
	}
	return deploy.Job{
		Name: "shop-jobs", Image: "registry.example.com/shop-jobs:1", Args: []string{"run"}, Schedule: set, Settings: settings,
		From: time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC),
	}
}

// rough are values that a YAML file, a shell, a template or an expression would take for something else.
func rough() (all []deploy.Variable) {
	for i, value := range []string{
		"plain", `'single' "double" \ back\\slash \n \x41 \`, "two\nlines\n", "tab\tand  blanks", " blanks around ", "\nnewline first",
		"$HOME ${HOME} $(HOME) $$HOME `id` !x", "%h %%", "{{.Name}} ${{ secrets.X }} ${{ '}}' }} $${{", "# no comment", "a: b, [c], {d}, - e",
		"!Ref Runs", "!GetAtt Runs.Arn", "*alias &anchor | >", "true", "no", "007", "1e3", "~", "null", "2026-11-30", "é ß 漢字 🌊 \u00a0\u2028\u0085\ufeff",
		"; echo", "${AWS::AccountId}", "\n---\nkind: Secret", "'", `"`, `\`, "=", "a=b",
	} {
		all = append(all, deploy.Variable{Name: fmt.Sprint("EBB_ROUGH_", i), Value: value})
	}
	return all
}

// samSchema is what goformation has as the specification of templates with functions, but only the part for some types of
// resources: the whole takes minutes to compile.
func samSchema(t *testing.T, types ...string) *jsonschema.Schema {
	t.Helper()
	var whole struct {
		AdditionalProperties bool                       `json:"additionalProperties"`
		Properties           map[string]json.RawMessage `json:"properties"`
		Required             []string                   `json:"required"`
		Type                 string                     `json:"type"`
		Definitions          map[string]json.RawMessage `json:"definitions"`
	}
	if err := json.Unmarshal([]byte(schema.SamSchema), &whole); err != nil {
		t.Fatal(err)
	}
	needed, oneOf := map[string]json.RawMessage{}, []map[string]string{}
	var need func(name string)
	need = func(name string) {
		if _, there := needed[name]; there {
			return
		}
		needed[name] = whole.Definitions[name]
		for _, m := range reference.FindAllSubmatch(needed[name], -1) {
			need(string(m[1]))
		}
	}
	for _, name := range types {
		need(name)
		oneOf = append(oneOf, map[string]string{"$ref": "#/definitions/" + name})
	}
	delete(whole.Properties, "Resources")
	for _, property := range whole.Properties {
		for _, m := range reference.FindAllSubmatch(property, -1) {
			need(string(m[1]))
		}
	}
	whole.Definitions = needed
	resources, err := json.Marshal(map[string]any{"type": "object", "additionalProperties": false, "patternProperties": map[string]any{"^[a-zA-Z0-9]+$": map[string]any{"anyOf": oneOf}}})
	if err != nil {
		t.Fatal(err)
	}
	whole.Properties["Resources"] = resources
	part, err := json.Marshal(whole)
	if err != nil {
		t.Fatal(err)
	}
	s, err := jsonschema.CompileString("sam.json", string(part))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

var reference = regexp.MustCompile(`"\$ref": *"#/definitions/([^"]+)"`)

// The template has no unknown property and lacks no required one; its settings arrive unchanged.
func TestLambdaTemplate(t *testing.T) {
	sam := samSchema(t, "AWS::Serverless::Function", "AWS::Scheduler::Schedule", "AWS::Logs::LogGroup", "AWS::IAM::Role")
	for _, image := range []string{"", "123456789012.dkr.ecr.eu-central-1.amazonaws.com/shop-jobs:1"} {
		for _, lines := range []string{"*/30 * * * *", "* * * * *", "@daily", "0 6 * * *\nCRON_TZ=Europe/Berlin 30 18 * * MON-FRI"} {
			j := job(t, lines, rough()...)
			j.Image = image
			files, err := deploy.Lambda(j)
			if err != nil {
				t.Fatal(err)
			}
			text := []byte(files[0].Content)
			plain, err := intrinsics.ProcessYAML(text, &intrinsics.ProcessorOptions{IntrinsicHandlerOverrides: map[string]intrinsics.IntrinsicHandler{
				"Fn::GetAtt": func(_ string, of any, _ any) any { return fmt.Sprint("the attribute ", of) },
			}})
			if err != nil {
				t.Fatal(err)
			}
			var document any
			if err := json.Unmarshal(plain, &document); err != nil {
				t.Fatal(err)
			}
			if err := sam.Validate(document); err != nil {
				t.Errorf("%#v\n%s", err, text)
			}

			template, err := goformation.ParseYAML(text)
			if err != nil {
				t.Fatalf("%v\n%s", err, text)
			}
			f, err := template.GetServerlessFunctionWithName("Runs")
			if err != nil {
				t.Fatal(err)
			}
			for _, v := range j.Settings {
				if got := f.Environment.Variables[v.Name]; got != v.Value {
					t.Errorf("%s is %q, want %q", v.Name, got, v.Value)
				}
			}
			if got := f.Environment.Variables["DATABASE_URL"]; got != "{{resolve:secretsmanager:shop-jobs}}" {
				t.Errorf("DATABASE_URL is %q", got)
			}
			timeout := time.Duration(*f.Timeout) * time.Second
			if budget, err := time.ParseDuration(f.Environment.Variables["EBB_MAX_RUNTIME"]); err != nil || budget >= timeout || timeout > 15*time.Minute {
				t.Errorf("EBB_MAX_RUNTIME %v, a timeout of %v, %v", budget, timeout, err)
			}
			e := f.EventInvokeConfig
			if *e.MaximumRetryAttempts != 0 || *e.MaximumEventAgeInSeconds < 60 || *e.MaximumEventAgeInSeconds > 21600 || *f.ReservedConcurrentExecutions != 1 {
				t.Errorf("%+v, %d at once", e, *f.ReservedConcurrentExecutions)
			}
			if isImage := *f.PackageType == "Image"; isImage != (image != "") || isImage != (f.ImageUri != nil && *f.ImageUri == image) || isImage == (f.Runtime != nil && *f.Runtime == "provided.al2023" && *f.Handler == "bootstrap") {
				t.Errorf("a function of the kind %s for the image %q", *f.PackageType, image)
			}
			schedules := template.GetAllSchedulerScheduleResources()
			if len(schedules) != strings.Count(lines, "\n")+1 {
				t.Errorf("%d schedules for %q", len(schedules), lines)
			}
			for name, s := range schedules {
				if s.FlexibleTimeWindow.Mode != "OFF" || *s.Target.RetryPolicy.MaximumRetryAttempts != 0 || *s.Target.RetryPolicy.MaximumEventAgeInSeconds < 60 {
					t.Errorf("%s: %s, %+v", name, s.FlexibleTimeWindow.Mode, s.Target.RetryPolicy)
				}
			}
		}
	}
}
