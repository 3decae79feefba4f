package cli

import (
	"cmp"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/seed829e008e/ebb/drain"
	"github.com/seed829e008e/ebb/drain/command"
)

// A queue is a queue that has a handler, by a command or in Go.
type queue struct {
	drain.Queue
	args   []string // its command; none where the handler is in Go
	origin string   // the setting that has the command
}

// queues are all that have a handler, those in Go first, and what is wrong with them.
func (c Config) queues(handlers []drain.Queue, behind dash) (all []queue, mistakes []error) {
	for _, h := range handlers {
		all = append(all, queue{Queue: h})
	}
	inGo := len(all)
	var fromSettings []queue
	for _, q := range slices.Sorted(maps.Keys(c.Groups)) {
		g := c.Groups[q]
		name := cmp.Or(g.Name, strings.ToLower(q))
		prefix := groupPrefix + q + "_"
		if i := slices.IndexFunc(all[:inGo], func(q queue) bool { return q.Name == name }); i >= 0 {
			if g.Command != "" {
				mistakes = append(mistakes, fmt.Errorf("%sCOMMAND: the queue %s has a handler in this program already; unset it", prefix, name))
			}
			g.over(&all[i].Queue)
			continue
		}
		made := queue{Queue: drain.Queue{Name: name}, origin: prefix + "COMMAND"}
		g.over(&made.Queue)
		if slices.ContainsFunc(fromSettings, func(q queue) bool { return q.Name == name }) {
			mistakes = append(mistakes, fmt.Errorf("%sNAME: the queue %s is configured twice; give one of them another name", prefix, name))
			continue
		}
		switch {
		case g.Command != "":
			args, err := split(g.Command)
			if err != nil {
				mistakes = append(mistakes, fmt.Errorf("%s: %w", made.origin, err))
			}
			made.args = args
		case behind == nil || len(c.Queues) > 0 && !slices.Contains(c.Queues, name):
			mistakes = append(mistakes, fmt.Errorf("%s is not set, but other settings of the queue are; set it, for example to %s", made.origin, "./send-email"))
		}
		fromSettings = append(fromSettings, made)
	}
	slices.SortFunc(fromSettings, func(a, b queue) int { return cmp.Compare(a.Name, b.Name) })
	return append(all, fromSettings...), mistakes
}

// over lays what is set over a queue's own.
func (g Group) over(q *drain.Queue) {
	q.Timeout = cmp.Or(g.Timeout, q.Timeout)
	q.Concurrency = cmp.Or(g.Concurrency, q.Concurrency)
	q.Backoff = cmp.Or(g.Backoff, q.Backoff)
}

func split(line string) ([]string, error) {
	args, err := command.Split(line)
	if err == nil && len(args) == 1 && isQuoted(line) && strings.ContainsAny(args[0], " \t") {
		return nil, fmt.Errorf("the quotes around the whole command make one word of it; take them away")
	}
	return args, err
}

// drained picks the queues to drain, in order. The origin is what named them.
func (c Config) drained(all []queue, behind dash, origin string) (picked []queue, mistakes []error) {
	names := []string(c.Queues)
	if behind != nil && len(names) == 0 {
		names = []string{"default"}
	}
	if names == nil {
		picked = all
	}
	for _, name := range names {
		if err := oddName(name); err != nil {
			mistakes = append(mistakes, fmt.Errorf("%s: %w", origin, err))
			continue
		}
		i := slices.IndexFunc(all, func(q queue) bool { return q.Name == name })
		switch {
		case i >= 0:
			picked = append(picked, all[i])
		case behind != nil:
			picked = append(picked, queue{Queue: drain.Queue{Name: name}})
		default:
			mistakes = append(mistakes, fmt.Errorf("%s: the queue %q has no handler; %s", origin, name, howToHandle(name)))
		}
	}
	for i := range picked {
		q := &picked[i]
		switch {
		case behind != nil && q.Handler != nil:
			mistakes = append(mistakes, fmt.Errorf("the command behind --: the queue %s has a handler in this program already", q.Name))
		case behind != nil:
			q.args, q.origin = behind, "the command behind --"
		}
	}
	return picked, mistakes
}

// look looks their commands up.
func look(queues []queue) (mistakes []error) {
	for _, q := range queues {
		if q.args != nil {
			if err := command.Look(q.args); err != nil {
				mistakes = append(mistakes, fmt.Errorf("%s: %w", q.origin, err))
			}
		}
	}
	return mistakes
}

// oddName refuses names that are hardly meant: in quotes that came along, or with control characters.
func oddName(name string) error {
	if isQuoted(name) || strings.ContainsFunc(name, isControl) {
		return fmt.Errorf("the queue's name %q has quotes around it or a control character in it; take that away", name)
	}
	return nil
}

func howToHandle(name string) string {
	q := strings.ToUpper(name)
	if strings.ToLower(q) == name && !strings.ContainsFunc(q, func(r rune) bool {
		return r != '_' && (r < 'A' || r > 'Z') && (r < '0' || r > '9')
	}) && q != "" {
		return fmt.Sprintf("give it one, for example %s%s_COMMAND=./send-email", groupPrefix, q)
	}
	return fmt.Sprintf("give it one, for example %sX_COMMAND=./send-email and %sX_NAME=%s", groupPrefix, groupPrefix, name)
}

// handlers gives every queue with a command its handler.
func (p *program) handlersOf(queues []queue, c Config, limits drain.Config, log *slog.Logger) []drain.Queue {
	env, withheld := command.Environ(p.environ, c.PassEnv)
	prepare := sync.OnceFunc(command.Prepare)
	var all []drain.Queue
	for _, q := range queues {
		if q.Handler == nil {
			prepare()
			q.Handler = command.Command{
				Args: q.args, Env: env, Withheld: withheld, KillAfter: limits.KillAfter(), Running: p.running, Redact: p.secrets.Redact, Log: log,
			}.Handle
		}
		all = append(all, q.Queue)
	}
	return all
}
