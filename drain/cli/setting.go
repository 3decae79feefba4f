package cli

import (
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// A Setting is one setting, as [Config] declares it.
type Setting struct {
	Variable string // EBB_MAX_JOBS; EBB_QUEUE_<Q>_TIMEOUT for those of a queue
	Flag     string // max-jobs; empty where there is none
	Default  string // what applies where it is unset, in words
	Help     string

	field   string // of Config or Group
	example string
	on      []string
	zero    bool // 0 has a meaning
	max     int
	kind    reflect.Type
}

// Settings lists all settings in their order.
func Settings() []Setting { return append(configSettings(), groupSettings()...) }

func configSettings() []Setting { return settingsOf(reflect.TypeFor[Config](), "") }

func groupSettings() []Setting { return settingsOf(reflect.TypeFor[Group](), groupPrefix+"<Q>_") }

func settingsOf(t reflect.Type, prefix string) (all []Setting) {
	for f := range t.Fields() {
		name := f.Tag.Get("env")
		if name == "-" {
			continue
		}
		s := Setting{
			Variable: prefix + name, Default: f.Tag.Get("default"), Help: f.Tag.Get("help"),
			field: f.Name, example: f.Tag.Get("example"), on: strings.Fields(f.Tag.Get("on")), kind: f.Type,
		}
		_, s.zero = f.Tag.Lookup("zero")
		s.max, _ = strconv.Atoi(f.Tag.Get("max"))
		switch {
		case name == "EBB_QUEUES":
			s.Flag = "queue" // repeatable, so it is not derived
		case len(s.on) > 0:
			s.Flag = strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(name, "EBB_"), "_", "-"))
		}
		all = append(all, s)
	}
	return all
}

// isOn says whether the command takes the setting as a flag.
func (s Setting) isOn(command string) bool { return slices.Contains(s.on, command) }
