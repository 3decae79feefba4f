package cli

import (
	"fmt"
	"maps"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// unknown gives a mistake for every variable that begins like a setting and is none.
func unknown(environ map[string]string) (mistakes []error) {
	var known []string
	for _, s := range Settings() {
		known = append(known, s.Variable)
	}
	for _, name := range slices.Sorted(maps.Keys(environ)) {
		switch {
		case !strings.HasPrefix(name, "EBB_"), blank(environ[name]), slices.Contains(known, name), isHandlers(name), isServiceLink(name, environ[name]):
			continue
		case isOdd(name):
			mistakes = append(mistakes, fmt.Errorf("%q is not a setting: a character of its name cannot be printed; unset it", name))
			continue
		}
		if q, suffix := splitGroup(name); suffix == "" && strings.HasPrefix(name, groupPrefix) {
			mistakes = append(mistakes, fmt.Errorf("%s is not a setting; %s", name, groupHint(name, known)))
		} else if suffix != "" && q == "" {
			mistakes = append(mistakes, fmt.Errorf("%s names no queue; for the queue default use %sDEFAULT_%s", name, groupPrefix, suffix))
		} else if suffix == "" {
			mistakes = append(mistakes, fmt.Errorf("%s is not a setting; %s", name, didYouMean(name, known)))
		}
	}
	return mistakes
}

// isOdd says whether a variable's name would not be one line of text where a message names it.
func isOdd(name string) bool {
	return !utf8.ValidString(name) || strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) })
}

// splitGroup takes EBB_QUEUE_SEND_MAIL_COMMAND apart: SEND_MAIL, COMMAND. The suffix is empty where it is none.
func splitGroup(name string) (q, suffix string) {
	rest, found := strings.CutPrefix(name, groupPrefix)
	if !found {
		return "", ""
	}
	for _, s := range groupSettings() {
		suffix := strings.TrimPrefix(s.Variable, groupPrefix+"<Q>_")
		if rest == suffix {
			return "", suffix
		}
		if q, found := strings.CutSuffix(rest, "_"+suffix); found {
			return q, suffix
		}
	}
	return "", ""
}

// groupHint is for a variable of a queue with an unknown suffix.
func groupHint(name string, known []string) string {
	for _, s := range groupSettings() {
		suffix := strings.TrimPrefix(s.Variable, groupPrefix+"<Q>")
		if at := strings.LastIndexByte(name, '_'); at >= len(groupPrefix) && distance(name[at:], suffix) <= 2 {
			return fmt.Sprintf("did you mean %s%s?", name[:at], suffix)
		}
	}
	if hint := nearest(name, known); hint != "" {
		return "did you mean " + hint + "?"
	}
	return "those of a queue end in _COMMAND, _NAME, _TIMEOUT, _CONCURRENCY or _BACKOFF"
}

func didYouMean(name string, known []string) string {
	if best := nearest(name, known); best != "" {
		return "did you mean " + best + "?"
	}
	return "see ebb run --help"
}

// nearest is the name that was probably meant, or empty.
func nearest(name string, known []string) (best string) {
	name = strings.TrimPrefix(name, "EBB_")
	least := max(1, len(name)/4) + 1
	for _, k := range known {
		if d := distance(name, strings.TrimPrefix(k, "EBB_")); d < least {
			best, least = k, d
		}
	}
	return best
}

// distance is how many letters must be put in, taken out or changed to make b of a.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}

// isHandlers says whether the variable is one that ebb gives its commands: they may run ebb themselves.
func isHandlers(name string) bool {
	switch name {
	case "EBB_JOB_ID", "EBB_JOB_QUEUE", "EBB_JOB_ATTEMPT", "EBB_JOB_MAX_ATTEMPTS", "EBB_JOB_RUN_AT", "EBB_JOB_DEADLINE",
		"EBB_JOB_LAST_ERROR", "EBB_RUN_ID":
		return true
	}
	return false
}

var (
	linkToHost = regexp.MustCompile(`^EBB_(\w+_)?(SERVICE_HOST|PORT_\d+_(TCP|UDP|SCTP)_ADDR)$`)
	linkToPort = regexp.MustCompile(`^EBB_(\w+_)?(SERVICE_PORT(_\w+)?|PORT_\d+_(TCP|UDP|SCTP)_PORT)$`)
	linkToURL  = regexp.MustCompile(`^EBB_(\w+_)?PORT(_\d+_(TCP|UDP|SCTP))?$`)
	linkProto  = regexp.MustCompile(`^EBB_(\w+_)?PORT_\d+_(TCP|UDP|SCTP)_PROTO$`)
)

// isServiceLink knows the variables that Kubernetes sets in every pod for a service whose name is or begins with ebb,
// by name and value.
func isServiceLink(name, value string) bool {
	switch {
	case linkToHost.MatchString(name):
		_, err := netip.ParseAddr(value)
		return err == nil
	case linkToPort.MatchString(name):
		return digits.MatchString(value)
	case linkToURL.MatchString(name):
		u, err := url.Parse(value)
		return err == nil && u.Port() != "" && slices.Contains([]string{"tcp", "udp", "sctp"}, u.Scheme)
	case linkProto.MatchString(name):
		return slices.Contains([]string{"tcp", "udp", "sctp"}, value)
	}
	return false
}
