package deploy

import (
	"errors"
	"fmt"
	"path"
	"regexp"
	"strings"
)

// A Command is what handles a queue, and the setting that says so.
type Command struct {
	Setting string
	Args    []string
}

// A place is where the commands of a run start.
type place struct {
	// relative says why a path that is relative leads nowhere; empty where it leads to what is deployed.
	relative string
	// hidden are directories that a run cannot read, and fresh those that are empty when it begins, each with the reason: a
	// command may write to a fresh one, but cannot lie there.
	hidden, fresh map[string]string
	// instead is where a command may lie.
	instead string
}

var (
	homes = []string{"/home", "/root", "/run/user", "/var/run/user"}
	temps = []string{"/tmp", "/var/tmp"}
)

func each(directories []string, why string) map[string]string {
	all := map[string]string{}
	for _, d := range directories {
		all[d] = why
	}
	return all
}

// inImage is where the commands of an image start.
var inImage = place{relative: "is looked for in the image's working directory, which this file does not know", instead: "/app/"}

// takes refuses the commands that would not be found there.
func (p place) takes(commands []Command) error {
	var wrong []error
	for _, c := range commands {
		if word, why := p.lost(c.Args); why != "" {
			wrong = append(wrong, fmt.Errorf("%s: %s %s; put what it needs where a run finds it, and name it by its path, for example %s%s",
				c.Setting, word, why, p.instead, path.Base(word)))
		}
	}
	return errors.Join(wrong...)
}

var (
	// launchers start the program, or read the file, that comes after them.
	launchers = regexp.MustCompile(`^(env|nice|ionice|nohup|timeout|setsid|stdbuf|chrt|taskset|flock|time|xargs|tini|dumb-init|busybox|prlimit|(ba|da|k|z|a)?sh|python[0-9.]*|pypy[0-9.]*|node|nodejs|bun|deno|ruby|perl|php[0-9.]*|java|lua[0-9.]*|Rscript)$`)
	// notTheProgram is what may stand between a launcher and what it starts: flags, variables, numbers and durations.
	notTheProgram = regexp.MustCompile(`^(-.*|[A-Za-z_][A-Za-z0-9_]*=.*|[0-9.]+[smhd]?)$`)
	script        = regexp.MustCompile(`\.(py|[cm]?js|ts|rb|pl|php|sh|lua|jar|R)$`)
	home          = regexp.MustCompile(`^~[a-z0-9_-]*(/|$)`)
	betweenPaths  = regexp.MustCompile(`[\s;&|()<>"'=:,]+`)
	changesDir    = regexp.MustCompile(`(^|[\s;&|(])cd\s`)
)

// lost finds the first path in a command line that leads nowhere. What is started by env, timeout, a shell and the like
// stands after it; the text of a script, and a flag's value, have paths anywhere.
func (p place) lost(args []string) (word, why string) {
	program, moved := true, p.relative == ""
	for i, arg := range args {
		starts := program && (i == 0 || !notTheProgram.MatchString(arg))
		moved = moved || changesDir.MatchString(arg) || path.Base(args[0]) == "env" && (strings.HasPrefix(arg, "-C") || strings.HasPrefix(arg, "--chdir"))
		if starts {
			switch {
			case strings.HasPrefix(arg, "/"):
				why = under(arg, p.fresh)
			case !moved && (strings.Contains(arg, "/") || i > 0 && script.MatchString(arg)) && !strings.ContainsAny(arg, " \t\n"):
				why = p.relative
			}
			if why != "" {
				return arg, why
			}
			program = launchers.MatchString(path.Base(arg))
		}
		for _, part := range betweenPaths.Split(arg, -1) {
			switch {
			case home.MatchString(part):
				why = "is nobody's home, where a run is"
			case strings.HasPrefix(part, "/"):
				why = under(part, p.hidden)
			case !moved && (strings.HasPrefix(part, "./") || strings.HasPrefix(part, "../")):
				why = p.relative
			}
			if why != "" {
				return part, why
			}
		}
	}
	return "", ""
}

// under gives the reason of the innermost of the directories that a path lies in.
func under(name string, directories map[string]string) string {
	for d := path.Clean(name); d != "/" && d != "."; d = path.Dir(d) {
		if why, ok := directories[d]; ok {
			return why
		}
	}
	return ""
}
