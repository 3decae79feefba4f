package validate

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/api/pod"
	"k8s.io/kubernetes/pkg/apis/batch"
	_ "k8s.io/kubernetes/pkg/apis/batch/install" // its defaults and conversions
	"k8s.io/kubernetes/pkg/apis/batch/validation"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	"k8s.io/kubernetes/third_party/forked/golang/expansion"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
	"sigs.k8s.io/yaml"

	"github.com/seed829e008e/ebb/deploy"
	"github.com/seed829e008e/ebb/schedule"
)

// cronJob is ebb's job for a schedule, as deploy takes it.
func cronJob(t *testing.T, lines string) deploy.Job {
	t.Helper()
	set, err := schedule.ParseLines(lines)
	if err != nil {
		t.Fatal(err)
	}
	return deploy.Job{
		Name: "ebb", Image: "registry.example.com/shop-jobs:1", Args: []string{"run"}, Schedule: set, Pods: 1,
		Settings: []deploy.Variable{{Name: "EBB_QUEUE_EMAIL_COMMAND", Value: "/app/send-email"}},
		From:     time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC),
	}
}

// accepted makes a job's CronJobs and gives them as the API server stores them: read strictly, given its defaults, held
// against its own validation, and each pod against the strictest of its security standards.
func accepted(t *testing.T, made deploy.Job) (all []batchv1.CronJob) {
	t.Helper()
	files, err := deploy.Kubernetes(made)
	if err != nil {
		t.Fatal(err)
	}
	for document := range strings.SplitSeq(files[0].Content, "\n---\n") {
		var c batchv1.CronJob
		if err := yaml.UnmarshalStrict([]byte(document), &c); err != nil {
			t.Fatalf("%v\n%s", err, document)
		}
		if want := (metav1.TypeMeta{APIVersion: "batch/v1", Kind: "CronJob"}); c.TypeMeta != want {
			t.Errorf("it is a %v, want %v", c.TypeMeta, want)
		}
		c.Namespace = "default" // kubectl's, from its context
		legacyscheme.Scheme.Default(&c)
		var stored batch.CronJob
		if err := legacyscheme.Scheme.Convert(&c, &stored, nil); err != nil {
			t.Fatal(err)
		}
		options := pod.GetValidationOptionsFromPodTemplate(&stored.Spec.JobTemplate.Spec.Template, nil)
		for _, wrong := range validation.ValidateCronJobCreate(&stored, options) {
			t.Errorf("the API server: %v\n%s", wrong, document)
		}
		started(t, c)
		restricted(t, c.Spec.JobTemplate.Spec.Template)
		all = append(all, c)
	}
	return all
}

// started holds the Job that the controller would make of a CronJob against what the API server does to a Job.
func started(t *testing.T, c batchv1.CronJob) {
	t.Helper()
	minutes := time.Date(2099, 12, 31, 0, 0, 0, 0, time.UTC).Unix() / 60
	made := batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("%s-%d", c.Name, minutes), Namespace: c.Namespace, UID: "1"}}
	c.Spec.JobTemplate.Spec.DeepCopyInto(&made.Spec)
	legacyscheme.Scheme.Default(&made)
	var stored batch.Job
	if err := legacyscheme.Scheme.Convert(&made, &stored, nil); err != nil {
		t.Fatal(err)
	}
	// These the API server adds by itself.
	stored.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{batchv1.ControllerUidLabel: "1"}}
	stored.Spec.Template.Labels = map[string]string{
		"controller-uid": "1", batchv1.ControllerUidLabel: "1", "job-name": made.Name, batchv1.JobNameLabel: made.Name,
	}
	options := validation.JobValidationOptions{
		PodValidationOptions:  pod.GetValidationOptionsFromPodTemplate(&stored.Spec.Template, nil),
		RequirePrefixedLabels: true,
	}
	for _, wrong := range validation.ValidateJobCreate(&stored, options) {
		t.Errorf("the API server, of a run: %v", wrong)
	}
}

// restricted holds a pod against the profile of that name.
func restricted(t *testing.T, template corev1.PodTemplateSpec) {
	t.Helper()
	evaluator, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	if err != nil {
		t.Fatal(err)
	}
	level := api.LevelVersion{Level: api.LevelRestricted, Version: api.LatestVersion()}
	result := policy.AggregateCheckResults(evaluator.EvaluatePod(level, &template.ObjectMeta, &template.Spec))
	if !result.Allowed {
		t.Errorf("the restricted profile: %s: %s", result.ForbiddenReason(), result.ForbiddenDetail())
	}
}

func TestKubernetesTakesAllSchedules(t *testing.T) {
	for lines, want := range map[string]string{
		"*/30 * * * *":                    "ebb: */30 * * * * in Etc/UTC",
		"5 17 * * 0":                      "ebb: 5 17 * * 0 in Etc/UTC",
		"0 12 * * 1-5":                    "ebb: 0 12 * * 1-5 in Etc/UTC",
		"0 0 1 * *":                       "ebb: 0 0 1 * * in Etc/UTC",
		"0 12 15-21 * 2":                  "ebb: 0 12 15-21 * 2 in Etc/UTC",
		"*/45 * * * *":                    "ebb: */45 * * * * in Etc/UTC",
		"CRON_TZ=Europe/Berlin 0 6 * * *": "ebb: 0 6 * * * in Europe/Berlin",
		"@daily":                          "ebb: 0 0 * * * in Etc/UTC",
		"* * * * *":                       "ebb: * * * * * in Etc/UTC",
		"0 6 * * ?\nTZ=America/Argentina/ComodRivadavia 30 18 * JAN-MAR MON-FRI": "ebb-1: 0 6 * * ? in Etc/UTC, ebb-2: 30 18 * JAN-MAR MON-FRI in America/Argentina/ComodRivadavia",
	} {
		var got []string
		for _, c := range accepted(t, cronJob(t, lines)) {
			got = append(got, fmt.Sprintf("%s: %s in %s", c.Name, c.Spec.Schedule, *c.Spec.TimeZone))
		}
		if got := strings.Join(got, ", "); got != want {
			t.Errorf("%q: got %s, want %s", lines, got, want)
		}
	}
}

// The limits are set, at the level at which they work, and in order.
func TestKubernetesLimits(t *testing.T) {
	for _, test := range []struct {
		lines    string
		gap      time.Duration
		late     int64
		deadline int64
		grace    int64
	}{
		{"* * * * *", time.Minute, 30, 58, 21},
		{"*/5 * * * *", 5 * time.Minute, 150, 272, 30},
		{"*/30 * * * *", 30 * time.Minute, 600, 1585, 30},
		{"0 3 * * *", 24 * time.Hour, 600, 3920, 30},
		{"0 3 * * *\n50 3 * * *", 50 * time.Minute, 600, 2570, 30},
	} {
		for _, c := range accepted(t, cronJob(t, test.lines)) {
			s, j := c.Spec, c.Spec.JobTemplate.Spec
			p := j.Template.Spec
			got := fmt.Sprint(*s.StartingDeadlineSeconds, " ", *j.ActiveDeadlineSeconds, " ", *p.TerminationGracePeriodSeconds)
			if want := fmt.Sprint(test.late, " ", test.deadline, " ", test.grace); got != want {
				t.Errorf("%q: late, deadline and grace are %s, want %s", test.lines, got, want)
			}
			if late := time.Duration(*s.StartingDeadlineSeconds) * time.Second; late < 10*time.Second || late/test.gap >= 100 {
				t.Errorf("%q: a run may be %s late: under ten seconds, or over a hundred starts", test.lines, late)
			}
			budget, grace, timeout := length(t, p, "EBB_MAX_RUNTIME"), length(t, p, "EBB_GRACE"), length(t, p, "EBB_JOB_TIMEOUT")
			deadline := time.Duration(*j.ActiveDeadlineSeconds) * time.Second
			if timeout+grace >= budget || budget >= deadline || deadline >= test.gap {
				t.Errorf("%q: not %s + %s < %s < %s < %s", test.lines, timeout, grace, budget, deadline, test.gap)
			}
			if grace >= time.Duration(*p.TerminationGracePeriodSeconds)*time.Second {
				t.Errorf("%q: the pod is killed %ds after the signal, within EBB_GRACE %s", test.lines, *p.TerminationGracePeriodSeconds, grace)
			}
			if p.ActiveDeadlineSeconds != nil {
				t.Errorf("%q: the pod has a deadline of its own, at which it would end as failed by itself", test.lines)
			}
		}
	}
}

// What the API server would add by itself is another thing for each: all of it is said.
func TestKubernetesSaysAll(t *testing.T) {
	c := accepted(t, cronJob(t, "*/30 * * * *"))[0]
	s, j := c.Spec, c.Spec.JobTemplate.Spec
	p, main := j.Template.Spec, j.Template.Spec.Containers[0]
	yes := func(b *bool) bool { return b != nil && *b }
	no := func(b *bool) bool { return b != nil && !*b }
	for what, ok := range map[string]bool{
		"concurrencyPolicy Forbid":               s.ConcurrencyPolicy == batchv1.ForbidConcurrent,
		"not suspended":                          s.Suspend == nil || no(s.Suspend),
		"history":                                *s.SuccessfulJobsHistoryLimit == 1 && *s.FailedJobsHistoryLimit == 3,
		"no ttl beside the history":              j.TTLSecondsAfterFinished == nil,
		"backoffLimit 0":                         *j.BackoffLimit == 0,
		"one pod":                                j.Parallelism == nil && j.Completions == nil && j.CompletionMode == nil, // a Job has one by itself
		"restartPolicy Never":                    p.RestartPolicy == corev1.RestartPolicyNever,
		"one container, and no others":           len(p.Containers) == 1 && len(p.InitContainers) == 0,
		"no token":                               no(p.AutomountServiceAccountToken),
		"no service links":                       no(p.EnableServiceLinks),
		"a user with a number":                   yes(p.SecurityContext.RunAsNonRoot) && *p.SecurityContext.RunAsUser > 0 && *p.SecurityContext.RunAsGroup > 0,
		"seccomp":                                p.SecurityContext.SeccompProfile.Type == corev1.SeccompProfileTypeRuntimeDefault,
		"no privilege escalation":                no(main.SecurityContext.AllowPrivilegeEscalation),
		"a root that cannot be written":          yes(main.SecurityContext.ReadOnlyRootFilesystem),
		"no capabilities":                        slices.Equal(main.SecurityContext.Capabilities.Drop, []corev1.Capability{"ALL"}) && len(main.SecurityContext.Capabilities.Add) == 0,
		"a /tmp that can":                        len(main.VolumeMounts) == 1 && main.VolumeMounts[0].MountPath == "/tmp" && p.Volumes[0].EmptyDir != nil,
		"requests":                               !main.Resources.Requests.Cpu().IsZero() && !main.Resources.Requests.Memory().IsZero(),
		"a limit of memory, and none of time":    !main.Resources.Limits.Memory().IsZero() && main.Resources.Limits.Cpu().IsZero(),
		"no probes":                              main.LivenessProbe == nil && main.ReadinessProbe == nil && main.StartupProbe == nil && main.Lifecycle == nil,
		"the image, whose entry point is ebb":    main.Image == "registry.example.com/shop-jobs:1" && main.Command == nil && slices.Equal(main.Args, []string{"run"}),
		"the summary is the termination message": main.TerminationMessagePath == value(p, "EBB_SUMMARY_FILE") && main.TerminationMessagePolicy == corev1.TerminationMessageFallbackToLogsOnError,
	} {
		if !ok {
			t.Errorf("not so: %s", what)
		}
	}
	for _, e := range main.Env {
		if ref := e.ValueFrom; e.Name == "DATABASE_URL" && (e.Value != "" || ref.SecretKeyRef.Name != "ebb" || ref.SecretKeyRef.Key != "DATABASE_URL") {
			t.Errorf("the database's URL is not taken from the secret: %v", e)
		}
	}
}

func TestKubernetesFailures(t *testing.T) {
	for pods, want := range map[int]string{
		1: "FailJob [5 78], Ignore DisruptionTarget True",
		3: "FailJob [78], Ignore DisruptionTarget True", // a handler of one pod does not end the others
	} {
		job := cronJob(t, "*/30 * * * *")
		job.Pods = pods
		var got []string
		for _, r := range accepted(t, job)[0].Spec.JobTemplate.Spec.PodFailurePolicy.Rules {
			if r.OnExitCodes != nil {
				got = append(got, fmt.Sprint(r.Action, " ", r.OnExitCodes.Values))
			}
			for _, c := range r.OnPodConditions {
				got = append(got, fmt.Sprint(r.Action, " ", c.Type, " ", c.Status))
			}
		}
		if got := strings.Join(got, ", "); got != want {
			t.Errorf("%d pods: got %s, want %s", pods, got, want)
		}
	}
}

func TestKubernetesPods(t *testing.T) {
	job := cronJob(t, "*/30 * * * *")
	job.Pods = 4
	j := accepted(t, job)[0].Spec.JobTemplate.Spec
	got := fmt.Sprintf("%d of %d, %s, backoff %d and %d, EBB_BATCH %s", *j.Parallelism, *j.Completions, *j.CompletionMode, *j.BackoffLimitPerIndex, *j.BackoffLimit, value(j.Template.Spec, "EBB_BATCH"))
	if want := "4 of 4, Indexed, backoff 0 and 4, EBB_BATCH 1"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	job.Settings = append(job.Settings, deploy.Variable{Name: "EBB_BATCH", Value: "5"})
	if got := value(accepted(t, job)[0].Spec.JobTemplate.Spec.Template.Spec, "EBB_BATCH"); got != "5" {
		t.Errorf("EBB_BATCH is %q though it was set to 5", got)
	}
	if got := value(accepted(t, cronJob(t, "*/30 * * * *"))[0].Spec.JobTemplate.Spec.Template.Spec, "EBB_BATCH"); got != "" {
		t.Errorf("EBB_BATCH is %q with one pod", got)
	}
}

// Names at the limit are taken, with the line's number too.
func TestKubernetesNames(t *testing.T) {
	job := cronJob(t, "*/30 * * * *")
	job.Name = strings.Repeat("a", 52)
	accepted(t, job)
	job.Name, job.Pods = strings.Repeat("a", 49), 100
	accepted(t, job)
	job = cronJob(t, "0 1 * * *\n0 2 * * *")
	job.Name = strings.Repeat("a", 50)
	accepted(t, job)
	job.Image, job.Settings = "", []deploy.Variable{{Name: "EBB_SUMMARY_FILE", Value: "/dev/termination-log"}}
	c := accepted(t, job)[1]
	if got := c.Spec.JobTemplate.Spec.Template.Spec.Containers[0].Image; got != "registry.example.com/ebb-jobs:1" {
		t.Errorf("without an image it is %s", got)
	}
	if got := value(c.Spec.JobTemplate.Spec.Template.Spec, "EBB_SUMMARY_FILE"); got != "/dev/termination-log" {
		t.Errorf("EBB_SUMMARY_FILE is %q though it was set", got)
	}
}

// Whatever a value or an argument holds, the kubelet gives it to the run unchanged.
func TestKubernetesValuesArriveUnchanged(t *testing.T) {
	job := cronJob(t, "*/30 * * * *")
	job.Settings, job.Args = nil, []string{"run", "--"}
	for i, v := range []string{
		"plain", `'single' "double" \ back\\slash \n \x41 \`, "two\nlines\n", "tab\tand  blanks", " blanks around ", "\nnewline first",
		"$HOME ${HOME} $(HOME) $$HOME $", "$(EBB_ODD_0) $$(EBB_ODD_0)", "%h %% %", "{{.Name}} ${{ secrets.X }} <% %>", "# no comment",
		"a: b, [c], {d}, - e", "!tag &anchor *alias | > @ `", "true", "007", "1e3", "~", "null", "", "2026-11-30",
		"é ß 漢字 🌊 \u00a0\u2028\u2029\u0085\ufeff\ufffe\x7f\x01\x1b\r\r\n \b", "\n---\nkind: Secret", "x\n---\n", "'", `"`, `\`, "\t", "\U000f0000",
	} {
		job.Settings = append(job.Settings, deploy.Variable{Name: fmt.Sprint("EBB_ODD_", i), Value: v})
		job.Args = append(job.Args, v)
	}
	p := accepted(t, job)[0].Spec.JobTemplate.Spec.Template.Spec
	for _, v := range job.Settings {
		if got := value(p, v.Name); got != v.Value {
			t.Errorf("%s arrives as %q, want %q", v.Name, got, v.Value)
		}
	}
	for i, arg := range p.Containers[0].Args {
		if got := expanded(p, arg); got != job.Args[i] {
			t.Errorf("the argument arrives as %q, want %q", got, job.Args[i])
		}
	}
}

// expanded is a value or an argument as the kubelet makes it: $(NAME) is the variable of that name.
func expanded(p corev1.PodSpec, text string) string {
	before := map[string]string{}
	for _, e := range p.Containers[0].Env {
		before[e.Name] = e.Value
	}
	return expansion.Expand(text, expansion.MappingFuncFor(before))
}

// value is a variable as it reaches the run.
func value(p corev1.PodSpec, name string) string {
	for _, e := range p.Containers[0].Env {
		if e.Name == name {
			return expanded(p, e.Value)
		}
	}
	return ""
}

func length(t *testing.T, p corev1.PodSpec, name string) time.Duration {
	t.Helper()
	d, err := time.ParseDuration(value(p, name))
	if err != nil {
		t.Fatal(err)
	}
	return d
}
