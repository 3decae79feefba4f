package validate

import (
	"bytes"
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/moby/buildkit/frontend/dockerfile/instructions"
	"github.com/moby/buildkit/frontend/dockerfile/parser"

	"github.com/seed829e008e/ebb/schema/schematest"
)

// An image is what the Dockerfile's last stage says, by the parser that builds it.
type image struct {
	build      []string    // the commands that make the program
	copies     [][2]string // from the first stage to the image
	uid, gid   uint32
	entrypoint []string
}

func parseDockerfile(t *testing.T) image {
	t.Helper()
	f, err := os.Open("../Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	tree, err := parser.Parse(f)
	if err != nil {
		t.Fatal(err)
	}
	stages, _, err := instructions.Parse(tree.AST, nil)
	if err != nil || len(stages) != 2 || len(tree.Warnings) > 0 {
		t.Fatalf("%d stages, %v, %v", len(stages), tree.Warnings, err)
	}
	var made image
	for _, command := range stages[0].Commands {
		if run, is := command.(*instructions.RunCommand); is {
			made.build = append(made.build, strings.Join(run.CmdLine, " "))
		}
	}
	if last := stages[1]; last.BaseName != "scratch" {
		t.Errorf("the image is made from %s", last.BaseName)
	}
	user := ""
	for _, command := range stages[1].Commands {
		switch c := command.(type) {
		case *instructions.CopyCommand:
			if c.From != stages[0].Name || len(c.SourcePaths) != 1 {
				t.Errorf("%v is not from the first stage", c)
			}
			made.copies = append(made.copies, [2]string{c.SourcePaths[0], c.DestPath})
		case *instructions.UserCommand:
			user = c.User
		case *instructions.EntrypointCommand:
			if c.PrependShell {
				t.Errorf("there is a shell in the entry point: %v", c.CmdLine)
			}
			made.entrypoint = c.CmdLine
		case *instructions.LabelCommand:
		default:
			t.Errorf("%s is not foreseen in an image of one program", command.Name())
		}
	}
	uid, gid, _ := strings.Cut(user, ":")
	u, err1 := strconv.ParseUint(uid, 10, 32)
	g, err2 := strconv.ParseUint(gid, 10, 32)
	if err1 != nil || err2 != nil || u == 0 || g == 0 {
		t.Errorf("USER %s is not the numbers of somebody who is not root", user)
	}
	made.uid, made.gid = uint32(u), uint32(g)
	return made
}

// root makes what the image is: the program, built by the Dockerfile's own command, and the certificates.
func (made image) root(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	for dir := root; dir != os.TempDir() && dir != "/"; dir = filepath.Dir(dir) {
		if err := os.Chmod(dir, 0o755); err != nil { // for whoever is not root
			t.Fatal(err)
		}
	}
	program := ""
	for _, copied := range made.copies {
		to := filepath.Join(root, copied[1])
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(copied[0], "/etc/ssl/") {
			certificates, err := os.ReadFile(copied[0])
			if err != nil {
				t.Logf("this machine has no certificates: %v", err)
			}
			if err := os.WriteFile(to, certificates, 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		program = to
	}
	build := made.build[len(made.build)-1]
	own := "-o " + made.entrypoint[0] + " "
	if !strings.Contains(build, own) {
		t.Fatalf("the last command of the first stage does not make %s: %s", made.entrypoint[0], build)
	}
	c := exec.Command("sh", "-ec", strings.Replace(build, own, "-o '"+program+"' ", 1))
	c.Dir = "../.."
	c.Env = append(os.Environ(), "TARGETOS="+runtime.GOOS, "TARGETARCH="+runtime.GOARCH)
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return root
}

func TestDockerfile(t *testing.T) {
	made := parseDockerfile(t)
	if len(made.entrypoint) != 1 || len(made.copies) != 2 || made.copies[1] != [2]string{made.entrypoint[0], made.entrypoint[0]} {
		t.Fatalf("%+v", made)
	}
	if path := "/etc/ssl/certs/ca-certificates.crt"; made.copies[0] != [2]string{path, path} {
		t.Errorf("Go looks for certificates at %s: %v", path, made.copies[0])
	}
	root := made.root(t)
	program, err := elf.Open(filepath.Join(root, made.entrypoint[0]))
	if err != nil {
		t.Fatal(err)
	}
	defer program.Close()
	for _, p := range program.Progs {
		if p.Type == elf.PT_INTERP || p.Type == elf.PT_DYNAMIC {
			t.Error("the program is not static")
		}
	}
	if program.Section(".debug_info") != nil || program.Section(".symtab") != nil {
		t.Error("the program is not stripped")
	}
	info, err := os.Stat(filepath.Join(root, made.entrypoint[0]))
	if err != nil || info.Size() > 24<<20 {
		t.Errorf("the program is %d MB, %v", info.Size()>>20, err)
	}
}

// The image as its user sees it: an empty root but for the program and the certificates.
func TestImage(t *testing.T) {
	if os.Getuid() != 0 {
		schematest.Missing(t, "root", "only root may change the root directory")
	}
	made := parseDockerfile(t)
	root := made.root(t)
	ebb := func(env []string, args ...string) (out string, status int) {
		t.Helper()
		c := exec.Command(made.entrypoint[0], args...)
		c.SysProcAttr = &syscall.SysProcAttr{Chroot: root, Credential: &syscall.Credential{Uid: made.uid, Gid: made.gid}}
		c.Dir, c.Env = "/", append([]string{}, env...)
		var both bytes.Buffer
		c.Stdout, c.Stderr = &both, &both
		if err := c.Run(); c.ProcessState == nil {
			t.Fatal(err)
		}
		return both.String(), c.ProcessState.ExitCode()
	}
	if out, status := ebb(nil, "version"); status != 0 || !strings.HasPrefix(out, "ebb ") {
		t.Errorf("exit %d, %s", status, out)
	}

	// No zones on the machine, and none is silently another.
	line := regexp.MustCompile(`next .* 06:00 \+0[12]:00`)
	if out, status := ebb(nil, "plan", "CRON_TZ=Europe/Berlin 0 6 * * *"); status != 0 || !line.MatchString(out) || !strings.Contains(out, "Europe/Berlin") {
		t.Errorf("exit %d, %s", status, out)
	}
	out, status := ebb(nil, "plan", "--from", "2026-03-28", "CRON_TZ=Europe/Berlin 0 6 * * *")
	if status != 0 || !strings.Contains(out, "2026-03-28 06:00 +01:00") || !strings.Contains(out, "2026-03-29 06:00 +02:00") {
		t.Errorf("exit %d, %s", status, out)
	}
	out, status = ebb([]string{"TZ=Australia/Sydney"}, "plan", "--from", "2026-03-01", "0 6 * * *")
	if status != 0 || !strings.Contains(out, "Australia/Sydney") || !strings.Contains(out, "2026-03-02 06:00 +11:00") {
		t.Errorf("exit %d, %s", status, out)
	}
	if out, status := ebb([]string{"TZ=Mars/Base"}, "plan", "0 6 * * *"); status != 78 || !strings.Contains(out, "Mars/Base") {
		t.Errorf("exit %d, %s", status, out)
	}

	// A command that was not put into the image is said to be missing, before anything is claimed.
	env := []string{"DATABASE_URL=postgres://user@127.0.0.1:1/jobs", "EBB_QUEUE_EMAIL_COMMAND=/app/send-email"}
	if out, status := ebb(env, "run"); status != 78 || !strings.Contains(out, "EBB_QUEUE_EMAIL_COMMAND") || !strings.Contains(out, "/app/send-email") {
		t.Errorf("exit %d, %s", status, out)
	}
}

// What git knows of is all in the build, else the version would be a dirty one, and so is .git, from which it comes.
func TestDockerignore(t *testing.T) {
	c := exec.Command("git", "ls-files", "--cached", "--ignored", "--exclude-from", ".dockerignore")
	c.Dir = "../.."
	if out, err := c.CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("left out of the build: %s, %v", out, err)
	}
	text, err := os.ReadFile("../../.dockerignore")
	if err != nil || strings.Contains(string(text), ".git") {
		t.Errorf("%s, %v", text, err)
	}
}
