package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestManifestSaysTheSettings(t *testing.T) {
	env := map[string]string{
		"TZ": "Europe/Berlin", "EBB_SCHEDULE": "0 6 * * *\nCRON_TZ=Asia/Tokyo 0 6 * * *", "EBB_QUEUES": "email", "EBB_BATCH": " 5 ",
		"EBB_MAX_RUNTIME": "30m", "EBB_QUEUE_EMAIL_COMMAND": "/app/send 'a b'", "EBB_QUEUE_EMAIL_TIMEOUT": "3m", "EBB_STRICT": "",
	}
	got := setup{env: env}.ebb("manifest", "kubernetes", "--batch", "7", "--queue", "email", "--name", "shop")
	if got.status != 0 {
		t.Fatal(got.stderr)
	}
	for variable, value := range map[string]string{
		"EBB_SCHEDULE": `"CRON_TZ=Europe/Berlin 0 6 * * *\nCRON_TZ=Asia/Tokyo 0 6 * * *"`, "EBB_QUEUES": `"email"`, "EBB_BATCH": `"7"`,
		"EBB_MAX_RUNTIME": `"30m"`, "EBB_QUEUE_EMAIL_COMMAND": `"/app/send 'a b'"`, "EBB_QUEUE_EMAIL_TIMEOUT": `"3m"`,
	} {
		if lines := strings.Count(got.stdout, variable+"\n") + strings.Count(got.stdout, variable+"\"\n"); lines != 2 || strings.Count(got.stdout, "value: "+value+"\n") != 2 {
			t.Errorf("%s=%s is not there, once for each of the two lines:\n%s", variable, value, got.stdout)
		}
	}
	if strings.Contains(got.stdout, "EBB_STRICT\"\n") || !strings.Contains(got.stdout, `name: "shop-2"`) {
		t.Errorf("%s", got.stdout)
	}
}

func TestManifestTakesACommand(t *testing.T) {
	got := setup{env: map[string]string{"EBB_SCHEDULE": "@daily"}}.ebb("manifest", "systemd", "--queue", "a", "--queue", "b", "--", "/app/send", "--fast")
	if want := "ExecStart=/usr/local/bin/ebb run --queue a --queue b -- /app/send --fast\n"; got.status != 0 || !strings.Contains(got.stdout, want) {
		t.Errorf("exit %d, %s\n%s", got.status, got.stderr, got.stdout)
	}
}

// All mistakes come at once, and nothing is printed.
func TestManifestMistakes(t *testing.T) {
	for _, test := range []struct {
		env  map[string]string
		args []string
		want string
	}{
		{map[string]string{"EBB_SCHEDULE": "@daily"}, []string{"manifest"}, "ebb: manifest needs a platform: kubernetes, systemd, lambda, cloudrun, github\n"},
		{map[string]string{"EBB_SCHEDULE": "@daily"}, []string{"manifest", "nomad"}, "ebb: manifest needs a platform: kubernetes, systemd, lambda, cloudrun, github\n"},
		{nil, []string{"manifest", "github", "--name", "A b", "--pods", "0", "--image", "a b"},
			"ebb: EBB_SCHEDULE is not set; set when runs start, for example to '*/30 * * * *'\n" +
				"ebb: --name: \"A b\" is not lower-case letters, digits and dashes, at most 52 of them, a letter first\n" +
				"ebb: --pods: 0 is not from 1 to 1000\nebb: --image: \"a b\" is not the name of an image\n"},
		{map[string]string{"EBB_SCHEDULE": "@daily"}, []string{"manifest", "systemd", "--image", "a:1", "--pods", "2"},
			"ebb: --image: systemd starts no images; leave it out\nebb: --pods: systemd has none; leave it out, and raise EBB_CONCURRENCY for more jobs at once\n"},
		{map[string]string{"EBB_SCHEDULE": "*/20 * * * *", "EBB_MAX_RUNTIME": "20m"}, []string{"manifest", "systemd"},
			"ebb: systemd: EBB_MAX_RUNTIME 20m is no less than the shortest gap of EBB_SCHEDULE, 20m ("},
		{map[string]string{"EBB_SCHEDULE": "@daily", "EBB_QUEUES": "foo"}, []string{"manifest", "kubernetes"},
			"ebb: EBB_QUEUES: the queue \"foo\" has no handler; give it one, for example EBB_QUEUE_FOO_COMMAND=./send-email\n"},
		{map[string]string{"EBB_SCHEDULE": "@daily", "EBB_SUMMARY_FILE": "/var/log/ebb.json"}, []string{"manifest", "systemd"},
			"ebb: systemd: EBB_SUMMARY_FILE /var/log/ebb.json cannot be written where runs are, but in /tmp/; unset it: the journal has the summary\n"},
		{map[string]string{"EBB_SCHEDULE": "@nonsense"}, []string{"manifest", "systemd"}, "ebb: EBB_SCHEDULE: schedule \"@nonsense\": "},
		{map[string]string{"EBB_SCHEDULE": "0 0 30 2 *"}, []string{"manifest", "systemd"}, "ebb: EBB_SCHEDULE: "},
		{map[string]string{"EBB_SCHEDULE": "0 6 * * *", "TZ": "Mars/Olympus"}, []string{"manifest", "systemd"}, "ebb: TZ: there is no zone \"Mars/Olympus\""},
		{map[string]string{"EBB_SCHEDULE": "0 6 * * *"}, []string{"manifest", "systemd", "--output", "/nowhere"}, "ebb: --output: "},
	} {
		got := setup{env: test.env}.ebb(test.args...)
		exact := strings.HasSuffix(test.want, "\n")
		if got.status == 0 || got.stdout != "" || exact && got.stderr != test.want || !strings.HasPrefix(lastLines(got.stderr), test.want) {
			t.Errorf("%v %v: exit %d\ngot  %swant %s", test.env, test.args, got.status, got.stderr, test.want)
		}
	}
}

// lastLines are those that are not of the log.
func lastLines(stderr string) string {
	return stderr[max(0, strings.Index(stderr, "ebb: ")):]
}

func TestManifestHasNoSecrets(t *testing.T) {
	env := map[string]string{
		"EBB_SCHEDULE": "*/30 * * * *", "DATABASE_URL": "postgres://u:Zqxvjk@h/d", "EBB_TOKEN": "Zqxvjk-Zqxvjk-Zqxvjk-Zqxvjk", "PGPASSWORD": "Zqxvjk",
	}
	for _, target := range targets {
		got := setup{env: env}.ebb("manifest", target.name)
		if got.status != 0 || strings.Contains(got.stdout+got.stderr, "Zqx") {
			t.Errorf("%s: exit %d\n%s%s", target.name, got.status, got.stdout, got.stderr)
		}
		if !strings.Contains(got.stderr, "no queue has a handler") {
			t.Errorf("%s: nothing is said of the handler that is not there: %s", target.name, got.stderr)
		}
	}
}

func TestManifestOutput(t *testing.T) {
	dir := t.TempDir()
	got := setup{env: map[string]string{"EBB_SCHEDULE": "*/30 * * * *"}}.ebb("manifest", "systemd", "--output", dir)
	want := filepath.Join(dir, "ebb.service") + "\n" + filepath.Join(dir, "ebb.timer") + "\n"
	if got.status != 0 || got.stdout != want {
		t.Fatalf("exit %d, %s%s", got.status, got.stdout, got.stderr)
	}
	printed := setup{env: map[string]string{"EBB_SCHEDULE": "*/30 * * * *"}}.ebb("manifest", "systemd").stdout
	var all string
	for i, path := range strings.Fields(want) {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		all += strings.Repeat("\n", i) + "# " + filepath.Base(path) + "\n" + string(text)
	}
	if printed != all {
		t.Errorf("what is printed is not what is written:\n%s", printed)
	}
}
