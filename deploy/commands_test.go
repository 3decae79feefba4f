package deploy

import (
	"strings"
	"testing"
)

// What a run would not find where it starts is refused, and everything else is not.
func TestCommands(t *testing.T) {
	const fine = ""
	for _, test := range []struct {
		line                                          string
		systemd, kubernetes, cloudRun, lambda, gitHub string // the word that is refused
	}{
		{"/usr/local/bin/send-email", fine, fine, fine, fine, fine},
		{"send-email --to ada", fine, fine, fine, fine, fine},
		{"./send-email", "./send-email", "./send-email", "./send-email", fine, fine},
		{"bin/send-email", "bin/send-email", "bin/send-email", "bin/send-email", fine, fine},
		{"../send-email", "../send-email", "../send-email", "../send-email", fine, fine},
		{"/home/ada/send-email", "/home/ada/send-email", fine, fine, "/home/ada/send-email", "/home/ada/send-email"},
		{"/usr/../home/ada/send-email", "/usr/../home/ada/send-email", fine, fine, "/usr/../home/ada/send-email", "/usr/../home/ada/send-email"},
		{"/root/send-email", "/root/send-email", fine, fine, "/root/send-email", "/root/send-email"},
		{"/run/user/1000/send-email", "/run/user/1000/send-email", fine, fine, "/run/user/1000/send-email", "/run/user/1000/send-email"},
		{"/homework/send-email", fine, fine, fine, fine, fine},
		{"/home/runner/work/send-email", "/home/runner/work/send-email", fine, fine, "/home/runner/work/send-email", fine},
		{"~/send-email", "~/send-email", "~/send-email", "~/send-email", "~/send-email", "~/send-email"},
		{"~ada/send-email", "~ada/send-email", "~ada/send-email", "~ada/send-email", "~ada/send-email", "~ada/send-email"},
		{"/tmp/send-email", "/tmp/send-email", "/tmp/send-email", fine, "/tmp/send-email", "/tmp/send-email"},
		{"/var/tmp/send-email", "/var/tmp/send-email", fine, fine, "/var/tmp/send-email", "/var/tmp/send-email"},
		{"send-email --spool /tmp/spool", fine, fine, fine, fine, fine},
		{"env LANG=C ./send-email", "./send-email", "./send-email", "./send-email", fine, fine},
		{"env -i LANG=C bin/send-email", "bin/send-email", "bin/send-email", "bin/send-email", fine, fine},
		{"env -C /srv ./send-email", fine, fine, fine, fine, fine},
		{"timeout 90s nice -n 5 /tmp/send-email", "/tmp/send-email", "/tmp/send-email", fine, "/tmp/send-email", "/tmp/send-email"},
		{"/usr/bin/env python3 send.py", "send.py", "send.py", "send.py", fine, fine},
		{"python3 worker/send.py", "worker/send.py", "worker/send.py", "worker/send.py", fine, fine},
		{"python3 /home/ada/send.py", "/home/ada/send.py", fine, fine, "/home/ada/send.py", "/home/ada/send.py"},
		{"python3 -m worker.send", fine, fine, fine, fine, fine},
		{"node /srv/send.js out/mail", fine, fine, fine, fine, fine},
		{"send-email --config=/home/ada/mail.conf", "/home/ada/mail.conf", fine, fine, "/home/ada/mail.conf", "/home/ada/mail.conf"},
		{"sh -c|cat | ./send-email", "./send-email", "./send-email", "./send-email", fine, fine},
		{"sh -c|cd /srv && ./send-email", fine, fine, fine, fine, fine},
		{"sh -c|cd ~/mail && ./send-email", "~/mail", "~/mail", "~/mail", "~/mail", "~/mail"},
		{"curl -d @- http://127.0.0.1:3000/home/mail", fine, fine, fine, fine, fine},
	} {
		args := strings.Fields(test.line)
		if words, text, ok := strings.Cut(test.line, "|"); ok && strings.HasSuffix(words, "-c") {
			args = append(strings.Fields(words), text)
		}
		for platform, word := range map[string]string{
			"systemd": test.systemd, "kubernetes": test.kubernetes, "cloudrun": test.cloudRun, "lambda": test.lambda, "github": test.gitHub,
		} {
			job := exampleJob(t)
			job.Commands = []Command{{"EBB_QUEUE_EMAIL_COMMAND", args}}
			if platform == "lambda" || platform == "github" {
				job.Image = ""
			}
			err := job.Startable(platform)
			want := "EBB_QUEUE_EMAIL_COMMAND: " + word + " is "
			if (err != nil) != (word != fine) || err != nil && !(strings.HasPrefix(err.Error(), want) && strings.Contains(err.Error(), "for example")) {
				t.Errorf("%s on %s: got %v, want %s", test.line, platform, err, word)
			}
		}
	}
}

// All at once, and by every maker.
func TestCommandsAreAllRefused(t *testing.T) {
	job := exampleJob(t)
	job.Commands = []Command{{"EBB_QUEUE_A_COMMAND", []string{"~/a"}}, {"EBB_QUEUE_B_COMMAND", []string{"b"}}, {"the command behind --", []string{"~/c"}}}
	job.Program.Path = "a b"
	for name, make := range makers {
		if files, err := make(job); err == nil || len(files) > 0 || strings.Count(err.Error(), "\n") != 2 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

var makers = map[string]func(Job) ([]File, error){"kubernetes": Kubernetes, "systemd": Systemd, "lambda": Lambda, "cloudrun": CloudRun, "github": GitHub}
