package cli

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/caarlos0/env/v11"

	"github.com/seed829e008e/ebb/schedule"
	"github.com/seed829e008e/ebb/schema"
)

const defaultSchema = "ebb"

// A given is what the command line says: flags by the variable whose flag they are, and what is behind each --queue.
type given struct {
	flags  map[string]string
	queues []string
	only   string // the one queue that an argument names
}

// named is what named the queues to drain.
func (g given) named() string {
	if len(g.queues) > 0 {
		return "--queue"
	}
	return "EBB_QUEUES"
}

// load reads the settings from the environment and the flags, and gives all that is wrong with them, a line each.
func load(environ map[string]string, by given) (Config, []error) {
	var c Config
	var mistakes []error
	values, origin := map[string]string{}, map[string]string{}
	for _, s := range configSettings() {
		value, from := environ[s.Variable], s.Variable
		if flag, is := by.flags[s.Variable]; is {
			value, from = flag, "--"+s.Flag
			if blank(flag) {
				mistakes = append(mistakes, blankFlag(s.Flag))
			}
		}
		values[s.Variable], origin[s.Variable] = value, from
	}
	mistakes = append(mistakes, parse(&c, configSettings(), "", values, origin)...)
	c.read.origin = origin

	if len(by.queues) > 0 {
		var wrong []error
		c.Queues, wrong = parseQueueFlags(by.queues)
		mistakes = append(mistakes, wrong...)
	}
	if by.only != "" {
		c.Queues = list{by.only}
	}
	for _, name := range c.PassEnv {
		if strings.ContainsAny(name, "= \t") {
			mistakes = append(mistakes, fmt.Errorf("%s: %q is not a variable's name; separate names with commas", origin["EBB_PASS_ENV"], before(name)))
		}
	}
	c.Groups = map[string]Group{}
	for _, q := range groupsIn(environ) {
		var g Group
		mistakes = append(mistakes, parse(&g, groupSettings(), groupPrefix+q+"_", environ, nil)...)
		c.Groups[q] = g
	}
	c.Schema = cmp.Or(c.Schema, defaultSchema)
	if err := schema.ValidName(c.Schema); err != nil {
		mistakes = append(mistakes, fmt.Errorf("%s: %w", origin["EBB_SCHEMA"], err))
	}
	c.read.wrong = slices.Clone(mistakes)
	return c, append(mistakes, unknown(environ)...)
}

// A reading is how settings were read.
type reading struct {
	origin map[string]string // what named a setting, its variable or its flag, by the variable
	wrong  []error           // what could not be read
}

// nameOf is the setting that is a field of drain's, as it was given.
func (c Config) nameOf(field, queue string) string {
	group := reflect.TypeFor[Group]()
	for q, g := range c.Groups {
		if queue != "" && cmp.Or(g.Name, strings.ToLower(q)) == queue && !reflect.ValueOf(g).FieldByName(field).IsZero() {
			f, _ := group.FieldByName(field)
			return groupPrefix + q + "_" + f.Tag.Get("env")
		}
	}
	f, ok := reflect.TypeFor[Config]().FieldByName(field)
	if queue != "" || !ok {
		return strings.TrimSuffix(field+" of queue "+queue, " of queue ")
	}
	return cmp.Or(c.read.origin[f.Tag.Get("env")], f.Tag.Get("env"))
}

// couldRead says whether a mistake of settings against each other is one: not where it speaks of a setting that could
// not be read, for whose default nobody asked.
func (r reading) couldRead(mistake error) bool {
	return !slices.ContainsFunc(r.wrong, func(err error) bool {
		name, _, _ := strings.Cut(err.Error(), " ")
		return strings.Contains(mistake.Error(), strings.TrimSuffix(name, ":"))
	})
}

// blankFlag is the mistake of a flag without a value: what it would have said was in a variable that is not set, perhaps.
func blankFlag(name string) error {
	return fmt.Errorf("--%s is given but blank; give it a value, or leave it out", name)
}

// parseQueueFlags reads the names behind every --queue as EBB_QUEUES is read.
func parseQueueFlags(texts []string) (queues list, mistakes []error) {
	for _, text := range texts {
		if blank(text) {
			mistakes = append(mistakes, blankFlag("queue"))
			continue
		}
		names, err := parseList(text)
		if err != nil {
			mistakes = append(mistakes, fmt.Errorf("--queue: %w", err))
		}
		queues = append(queues, names...)
	}
	return queues, mistakes
}

// before is what stands before the value, which may be a secret.
func before(entry string) string {
	name, _, _ := strings.Cut(entry, "=")
	return name
}

// parse fills in a struct of settings from values by the names of their variables. A prefix stands in place of that of
// the settings. The origins are what mistakes are named after; the variables' own names where there is none.
func parse(into any, settings []Setting, prefix string, values, origin map[string]string) (mistakes []error) {
	clean := map[string]string{}
	byField := map[string]Setting{}
	for _, s := range settings {
		if prefix != "" {
			s.Variable = prefix + strings.TrimPrefix(s.Variable, groupPrefix+"<Q>_")
		}
		if origin[s.Variable] == "" {
			origin = maps.Clone(origin)
			if origin == nil {
				origin = map[string]string{}
			}
			origin[s.Variable] = s.Variable
		}
		byField[s.field] = s
		value := strings.TrimSpace(values[s.Variable])
		if problem := misread(s, value); problem != nil {
			mistakes = append(mistakes, fmt.Errorf("%s: %w", origin[s.Variable], problem))
			continue
		}
		clean[s.Variable] = value
	}
	err := env.ParseWithOptions(into, env.Options{Environment: clean, Prefix: prefix, FuncMap: parsers})
	var all env.AggregateError
	if errors.As(err, &all) {
		for _, err := range all.Errors {
			var bad env.ParseError
			if !errors.As(err, &bad) {
				mistakes = append(mistakes, err)
				continue
			}
			s := byField[bad.Name]
			mistakes = append(mistakes, fmt.Errorf("%s: %w%s", origin[s.Variable], bad.Err, s.forExample(bad.Err)))
		}
	}
	for _, s := range settings {
		s = byField[s.field]
		if err := s.bound(reflect.ValueOf(into).Elem().FieldByName(s.field), clean[s.Variable]); err != nil {
			mistakes = append(mistakes, fmt.Errorf("%s: %w%s", origin[s.Variable], err, s.forExample(err)))
		}
	}
	return mistakes
}

// misread is what no value may be, whatever its kind: in quotes that came along from a file, or with control characters.
func misread(s Setting, value string) error {
	if s.kind == reflect.TypeFor[Secret]() {
		return nil // looked at where it is used, with more care
	}
	if s.field == "Command" {
		return nil // its own quotes, and lines, are its business
	}
	if strings.Contains(value, "://") || passwordPart.MatchString(value) { // it may hold a secret: not a word of it
		return errors.New("it holds a connection URL, which belongs into DATABASE_URL or into the file that DATABASE_URL_FILE names")
	}
	if s.kind == reflect.TypeFor[schedule.Set]() {
		return nil // it has lines, and its parser says what is wrong with each
	}
	shown, remedy := value, "take it away"
	if s.kind == reflect.TypeFor[list]() {
		shown, remedy = before(value), "separate names with commas"
	}
	if strings.ContainsFunc(value, isControl) {
		return fmt.Errorf("there is a control character in %q; %s", shown, remedy)
	}
	if isQuoted(value) {
		return fmt.Errorf("the quotes in %s would be part of the value; take them away", shown)
	}
	return nil
}

// bound says what is wrong with a value as such, though it is of the right kind.
func (s Setting) bound(v reflect.Value, text string) error {
	if text == "" || !v.CanInt() || s.kind == reflect.TypeFor[logLevel]() {
		return nil
	}
	switch n := v.Int(); {
	case n == 0 && !s.zero && strings.Trim(text, "0.hmsuµμn") == "":
		return errZero
	case s.max > 0 && n > int64(s.max):
		return fmt.Errorf("%d is too large: the most is %d", n, s.max)
	}
	return nil
}

// forExample ends a message that does not say itself what to use.
func (s Setting) forExample(err error) string {
	if strings.Contains(err.Error(), "; ") {
		return ""
	}
	return "; use for example " + s.example
}

func blank(value string) bool { return strings.TrimSpace(value) == "" }

func isControl(r rune) bool { return r < ' ' || r == 0x7f }

// environment is the list of a process's variables by name. Of several of one name the last counts.
func environment(list []string) map[string]string {
	m := make(map[string]string, len(list))
	for _, entry := range list {
		if name, value, ok := strings.Cut(entry, "="); ok && name != "" {
			m[name] = value
		}
	}
	return m
}

// groupsIn lists the <Q>s for which something is set.
func groupsIn(environ map[string]string) (all []string) {
	for name, value := range environ {
		if q, _ := splitGroup(name); q != "" && !blank(value) && !isServiceLink(name, value) && !isOdd(name) {
			all = append(all, q)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}
