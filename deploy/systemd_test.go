package deploy

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

func TestSystemdIsAsItsCopy(t *testing.T) {
	files, err := Systemd(exampleJob(t))
	if err != nil {
		t.Fatal(err)
	}
	for i, name := range []string{"ebb.service", "ebb.timer"} {
		if files[i].Name != name {
			t.Errorf("the file is named %s, want %s", files[i].Name, name)
		}
		isCopy(t, name, files[i].Content)
	}
}

// units writes a job's units into a directory of their own. The binary is another one: systemd asks whether it is there.
func units(t *testing.T, job Job) (directory string) {
	t.Helper()
	files, err := Systemd(job)
	if err != nil {
		t.Fatal(err)
	}
	directory = t.TempDir()
	for _, f := range files {
		content := strings.Replace(f.Content, "ExecStart=/usr/local/bin/ebb", "ExecStart=/bin/true", 1)
		if err := os.WriteFile(filepath.Join(directory, f.Name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return directory
}

// All schedules that users write are taken, coincidence or not, and systemd has nothing to say about the units.
func TestSystemdVerifies(t *testing.T) {
	analyze := tool(t, "systemd-analyze")
	for i, text := range []string{
		"*/30 * * * *", "5 17 * * 0", "0 12 * * 1-5", "0 0 1 * *", "0 12 15-21 * 2", "*/45 * * * *", "CRON_TZ=Europe/Berlin 0 6 * * *",
		"@daily", "* * * * *", "0 0 30 2 1", "0 6 * * *\n*/30 * * * 1", "@daily\n@daily", "0 6 * * *\nCRON_TZ=Europe/Berlin 30 18 * * MON-FRI",
	} {
		job := exampleJob(t)
		job.Schedule = lines(t, text)
		if i%2 > 0 {
			job.Settings, job.Args, job.Name = odd("EBB_ODD_"), oddArguments(), "shop-jobs"
		}
		directory := units(t, job)
		said, err := exec.Command(analyze, "verify", "--man=no", filepath.Join(directory, job.Name+".service"), filepath.Join(directory, job.Name+".timer")).CombinedOutput()
		for line := range strings.Lines(string(said)) {
			if strings.Contains(line, job.Name+".") || err != nil {
				t.Errorf("%q: %s", text, line)
			}
		}
	}
}

var exposure = regexp.MustCompile(`Overall exposure level for ebb\.service: ([0-9.]+)`)

func TestSystemdSandbox(t *testing.T) {
	analyze := tool(t, "systemd-analyze")
	said, err := exec.Command(analyze, "security", "--offline=true", "--no-pager", filepath.Join(units(t, exampleJob(t)), "ebb.service")).CombinedOutput()
	m := exposure.FindSubmatch(said)
	if err != nil || m == nil {
		t.Fatalf("%v\n%s", err, said)
	}
	if score, _ := strconv.ParseFloat(string(m[1]), 64); score >= 1.5 {
		t.Errorf("the exposure is %s, want less than 1.5:\n%s", m[1], said)
	}
}

// The limits are in order, as those of the runs that they bound.
func TestSystemdLimits(t *testing.T) {
	for text, want := range map[string]string{
		"* * * * *":    "TimeoutStartSec=58 TimeoutStopSec=21",
		"*/5 * * * *":  "TimeoutStartSec=272 TimeoutStopSec=30",
		"*/30 * * * *": "TimeoutStartSec=1585 TimeoutStopSec=30",
		"0 3 * * *":    "TimeoutStartSec=3920 TimeoutStopSec=30",
	} {
		job := exampleJob(t)
		job.Schedule = lines(t, text)
		files, err := Systemd(job)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for line := range strings.Lines(files[0].Content) {
			if strings.HasPrefix(line, "Timeout") {
				got = append(got, strings.TrimSpace(line))
			}
		}
		if got := strings.Join(got, " "); got != want {
			t.Errorf("%q: got %s, want %s", text, got, want)
		}
	}
}

func TestSystemdRefuses(t *testing.T) {
	for want, change := range map[string]func(*Job){
		"EBB_COMPUTE holds a control character": func(j *Job) { j.Settings = []Variable{{"EBB_COMPUTE", "a\rb"}} },
		"EBB_COMPUTE holds a NUL":               func(j *Job) { j.Settings = []Variable{{"EBB_COMPUTE", "a\x00b"}} },
		`"EBB_QUEUE_É_COMMAND": `:               func(j *Job) { j.Settings = []Variable{{"EBB_QUEUE_É_COMMAND", "x"}} },
		"EBB_MAX_RUNTIME 1h is no less than":    func(j *Job) { j.Asked.MaxRuntime = time.Hour },
		"there is no schedule":                  func(j *Job) { j.Schedule = nil },
	} {
		job := exampleJob(t)
		change(&job)
		if files, err := Systemd(job); err == nil || !strings.Contains(err.Error(), want) || len(files) > 0 {
			t.Errorf("got %v, want an error with %q", err, want)
		}
	}
}

// Whatever a value holds, it arrives unchanged: read back by systemd's own manager, in its test mode.
func TestSystemdReadsValuesUnchanged(t *testing.T) {
	job := exampleJob(t)
	job.Settings, job.Args = odd("EBB_ODD_"), oddArguments()
	environment, command := loaded(t, tool(t, "systemd"), units(t, job))
	for _, v := range job.Settings {
		if got := environment[v.Name]; got != v.Value {
			t.Errorf("%s arrives as %q, want %q", v.Name, got, v.Value)
		}
	}
	if want := append([]string{"/bin/true"}, job.Args...); !slices.Equal(command, want) {
		t.Errorf("the command arrives as\n%q, want\n%q", command, want)
	}
}

// loaded is the environment and the command that the manager would start the service with. It runs as an ordinary user's,
// for it refuses this to root.
func loaded(t *testing.T, systemd, directory string) (environment map[string]string, command []string) {
	t.Helper()
	home := t.TempDir()
	args := []string{systemd, "--test", "--user", "--unit=ebb.service"}
	if os.Geteuid() == 0 {
		args = append([]string{"setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"}, args...)
		for _, d := range []string{home, filepath.Dir(home), directory, filepath.Dir(directory)} {
			if err := os.Chmod(d, 0o777); err != nil {
				t.Fatal(err)
			}
		}
	}
	c := exec.Command(args[0], args[1:]...)
	c.Env = []string{"PATH=" + os.Getenv("PATH"), "SYSTEMD_UNIT_PATH=" + directory + ":", "XDG_RUNTIME_DIR=" + home, "HOME=" + home, "SYSTEMD_LOG_TARGET=null"}
	var said, errors bytes.Buffer
	c.Stdout, c.Stderr = &said, &errors
	if err := c.Run(); err != nil {
		t.Fatalf("systemd --test: %v\n%s", err, errors.String())
	}
	_, unit, found := strings.Cut(said.String(), "-> Unit ebb.service:\n")
	if !found {
		t.Fatalf("systemd --test does not show the unit:\n%s", said.String())
	}
	unit, _, _ = strings.Cut(unit, "\t-> Unit ")
	environment = map[string]string{}
	// A value may have several lines, but two tabs begin only what the manager says of the unit.
	for part := range strings.SplitSeq(unit, "\n\t\t") {
		if variable, found := strings.CutPrefix(part, "Environment: "); found {
			name, value, _ := strings.Cut(variable, "=")
			environment[name] = value
		}
	}
	_, line, _ := strings.Cut(unit, "Command Line: ")
	line, _, _ = strings.Cut(line, "\n")
	for _, word := range words(t, line) {
		command = append(command, strings.ReplaceAll(word, "$$", "$")) // as it does at the start
	}
	return environment, command
}
