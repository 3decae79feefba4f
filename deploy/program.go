package deploy

import (
	"errors"
	"fmt"
	"path"
	"regexp"
	"strings"
)

// A Program is what has the handlers in Go.
type Program struct {
	// Path is what was named: the program on the machine or in the image; on GitHub, without an image, its Go package.
	Path string
	// Handlers says that there are such handlers, so that ebb alone will not do; Own and Package are the name of the program
	// that has them and the path of its main package, as far as they are known.
	Handlers     bool
	Own, Package string
}

const stock = "ebb"

// onMachine is the program's path on a machine, and whether it is only assumed.
func (p Program) onMachine() (name string, assumed bool, err error) {
	switch {
	case p.Path == "" && !p.Handlers:
		return "/usr/local/bin/" + stock, false, nil
	case p.Path == "":
		return "/usr/local/bin/" + p.Own, true, nil
	case !strings.Contains(p.Path, "/"):
		return "/usr/local/bin/" + p.Path, false, nil
	}
	if word, why := onSystemd.lost([]string{p.Path}); why != "" {
		return "", false, fmt.Errorf("--program: %s %s; install it where a run finds it, and name it by its path, for example /usr/local/bin/%s", word, why, path.Base(p.Path))
	}
	return p.Path, false, nil
}

// inImage refuses a placeholder for an image that has to have handlers in Go, and a path that is relative to who knows what.
func (p Program) inImage(image string) error {
	var wrong []error
	if p.Handlers && image == "" {
		wrong = append(wrong, fmt.Errorf("--image: the handlers are in this program, so that runs need an image of it; "+
			"build one with %s as its entry point, and name it, for example --image registry.example.com/%s:1", p.Own, imageName(p.Own)))
	}
	if strings.Contains(p.Path, "/") && !path.IsAbs(p.Path) {
		wrong = append(wrong, fmt.Errorf("--program: %s %s; name it by its path there, for example /%s, or leave it out where it is the image's entry point", p.Path, inImage.relative, path.Base(p.Path)))
	}
	return errors.Join(wrong...)
}

func imageName(own string) string {
	if !plainWord.MatchString(own) {
		return "jobs"
	}
	return strings.ToLower(own)
}

// Name is what the program is called where somebody has it at hand.
func (p Program) Name() string {
	switch {
	case p.Path != "" && !strings.Contains(p.Path, "@") && path.Base(p.Path) != "." && path.Base(p.Path) != "..":
		return path.Base(p.Path)
	case p.Handlers:
		return p.Own
	}
	return stock
}

// isPackage says whether the path of the main package is one that go build takes elsewhere too.
func (p Program) isPackage() bool {
	return strings.Contains(p.Package, "/") && !strings.HasPrefix(p.Package, "_") && p.Package != "command-line-arguments"
}

// bootstrap is the shell line that puts the program into a function's directory.
func (p Program) bootstrap() (line string, assumed bool) {
	copied := func(name string) string {
		if strings.Contains(name, "/") {
			return "cp " + shellWord(name) + " function/bootstrap"
		}
		return `cp "$(command -v ` + shellWord(name) + `)" function/bootstrap`
	}
	switch {
	case p.Path != "":
		return copied(p.Path), false
	case p.Handlers && p.isPackage():
		return "CGO_ENABLED=0 GOOS=linux GOARCH=amd64 go build -o function/bootstrap " + shellWord(p.Package), true
	}
	return copied(p.Name()), p.Handlers
}

// onRunner is how a runner of GitHub comes to the program, and what starts it there, in words of a shell.
func (p Program) onRunner() (build, start string, assumed bool, err error) {
	pkg := p.Path
	if pkg == "" && p.Handlers {
		if pkg, assumed = p.Package, true; !p.isPackage() {
			return "", "", false, errors.New("--program: the handlers are in this program, and ebb as it is published does not have them; " +
				"name its main package in the repository, for example --program ./cmd/jobs, or an image of it as --image")
		}
	}
	module, version, versioned := strings.Cut(pkg, "@")
	local := module == "." || strings.HasPrefix(module, "./")
	switch {
	case pkg == "":
		return "go install github.com/seed829e008e/ebb@latest # or the version that you have tried", `"$(go env GOPATH)/bin/ebb"`, false, nil
	case !local && (path.IsAbs(module) || !strings.Contains(module, "/") || strings.HasPrefix(module, "..")) || versioned && (local || version == ""):
		return "", "", false, fmt.Errorf("--program: %s is no Go package that a runner could build; name the main package in the repository, for example ./cmd/jobs, or one with its version, for example example.com/jobs@latest", pkg)
	case versioned:
		name := path.Base(module)
		if majorVersion.MatchString(name) {
			name = path.Base(path.Dir(module))
		}
		return "go install " + shellWord(pkg), `"$(go env GOPATH)/bin"/` + shellWord(name), false, nil
	}
	return `go build -o "$RUNNER_TEMP/jobs" ` + shellWord(pkg), `"$RUNNER_TEMP/jobs"`, assumed, nil
}

var majorVersion = regexp.MustCompile(`^v[0-9]+$`)

var (
	onSystemd = place{relative: "is relative, and a run starts in /", instead: "/usr/local/bin/",
		hidden: each(homes, "is hidden from a run by ProtectHome=yes"), fresh: each(temps, "is empty in a run, by PrivateTmp=yes")}
	inPod      = place{relative: inImage.relative, instead: inImage.instead, fresh: map[string]string{"/tmp": "is empty in a run, whatever the image has there"}}
	inFunction = place{instead: "./", hidden: each(homes, "is not in the function"), fresh: each(temps, "is empty in a function")}
	onRunner   = place{instead: "./", hidden: map[string]string{"/root": "is not on a runner", "/home": "is not on a runner", "/home/runner": "", "/run/user": "is not on a runner"},
		fresh: each(temps, "is empty on a runner")}
	inLambdaImage = place{relative: inImage.relative, instead: inImage.instead, fresh: map[string]string{"/tmp": "is empty in a function"}}
)

// Startable refuses a program and commands that a run could not start on a platform, all of them at once.
func (j Job) Startable(platform string) error {
	var program error
	where := inImage
	switch platform {
	case "systemd":
		_, _, program = j.Program.onMachine()
		where = onSystemd
	case "kubernetes":
		program, where = j.Program.inImage(j.Image), inPod
	case "cloudrun":
		program = j.Program.inImage(j.Image)
	case "lambda":
		if where = inLambdaImage; j.Image == "" {
			where = inFunction
		} else if j.Program.Path != "" {
			program = errors.New("--program: a function starts the entry point of its image; leave it out")
		}
	case "github":
		if j.Image != "" {
			program = j.Program.inImage(j.Image)
			break
		}
		_, _, _, program = j.Program.onRunner()
		where = onRunner
	}
	if p := j.Program.Path; p != "" && !plainWord.MatchString(p) {
		program = fmt.Errorf("--program: %q is not the path of a program; for example /usr/local/bin/jobs", p)
	}
	return errors.Join(program, where.takes(j.Commands))
}

// Assumed is what the files of a platform take for granted that was not said, with what to say instead.
func (j Job) Assumed(platform string) (all []string) {
	note := func(assumed bool, format string, args ...any) {
		if assumed {
			all = append(all, fmt.Sprintf(format, args...))
		}
	}
	switch platform {
	case "systemd":
		name, assumed, _ := j.Program.onMachine()
		note(assumed, "the handlers are in this program, which is taken to be %s on the machine; name another path with --program", name)
	case "kubernetes", "cloudrun":
		note(j.Image == "", "the image %s is a placeholder that nobody can pull; name yours with --image", image(""))
		note(j.Program.Handlers && j.Image != "" && j.Program.Path == "", "the handlers are in this program, which is taken to be the entry point of %s; name its path in the image with --program", j.Image)
	case "lambda":
		if j.Image != "" {
			note(j.Program.Handlers, "the handlers are in this program, which is taken to be the entry point of %s", j.Image)
			break
		}
		line, assumed := j.Program.bootstrap()
		note(assumed, "the handlers are in this program, which is taken to be made by: %s; name a program for Linux and x86-64 with --program", line)
	case "github":
		if j.Image != "" {
			note(j.Program.Handlers && j.Program.Path == "", "the handlers are in this program, which is taken to be the entry point of %s; name its path in the image with --program", j.Image)
			break
		}
		_, _, assumed, _ := j.Program.onRunner()
		note(assumed, "the handlers are in this program, which is taken to be the package %s of the repository's module; name another package with --program", j.Program.Package)
	}
	return all
}
