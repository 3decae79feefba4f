package command

import (
	"runtime"
	"slices"
	"strings"
)

// connection names the variables that libpq, and pgx like it, reads to connect: all that libpq's manual lists for
// Postgres 18, but PGLOCALEDIR, which only picks the language of messages. Others that begin with PG (PGDATA, PGUSER_ID)
// have nothing to do with a connection and are passed.
var connection = []string{
	"PGHOST", "PGHOSTADDR", "PGPORT", "PGDATABASE", "PGUSER", "PGPASSWORD", "PGPASSFILE",
	"PGSERVICE", "PGSERVICEFILE", "PGSYSCONFDIR", "PGOPTIONS", "PGAPPNAME", "PGCONNECT_TIMEOUT",
	"PGREQUIREAUTH", "PGCHANNELBINDING", "PGREQUIREPEER", "PGREALM",
	"PGSSLMODE", "PGREQUIRESSL", "PGSSLNEGOTIATION", "PGSSLCOMPRESSION", "PGSSLCERT", "PGSSLKEY", "PGSSLPASSWORD",
	"PGSSLCERTMODE", "PGSSLROOTCERT", "PGSSLCRL", "PGSSLCRLDIR", "PGSSLSNI", "PGSSLKEYLOGFILE",
	"PGSSLMINPROTOCOLVERSION", "PGSSLMAXPROTOCOLVERSION", "PGMINPROTOCOLVERSION", "PGMAXPROTOCOLVERSION",
	"PGGSSENCMODE", "PGKRBSRVNAME", "PGGSSLIB", "PGGSSDELEGATION",
	"PGCLIENTENCODING", "PGTARGETSESSIONATTRS", "PGLOADBALANCEHOSTS", "PGDATESTYLE", "PGTZ", "PGGEQO",
}

// Environ is what a command sees of the worker's environment: all of it, except
//
//   - DATABASE_URL and whatever begins with it (DATABASE_URL_FILE, DATABASE_URL_REPLICA),
//   - the connection variables of libpq (PGHOST, PGPASSWORD, PGSERVICE, PGSSLROOTCERT, ...),
//   - EBB_*, ebb's settings, secrets among them, and the job of a run that this run may be a handler of,
//
// unless pass has the very name. Other secrets (AWS_SECRET_ACCESS_KEY) are the user's and passed: a command that prints
// its environment prints them into the log. The names of what was there and withheld are in withheld, sorted.
func Environ(environ, pass []string) (env, withheld []string) {
	env = make([]string, 0, len(environ))
	for _, entry := range environ {
		name := variableName(entry)
		if private(name) && !slices.ContainsFunc(pass, func(p string) bool { return sameName(p, name) }) {
			withheld = append(withheld, name)
			continue
		}
		env = append(env, entry)
	}
	slices.Sort(withheld)
	return env, slices.Compact(withheld)
}

func private(name string) bool {
	if runtime.GOOS == "windows" {
		name = strings.ToUpper(name)
	}
	return strings.HasPrefix(name, "DATABASE_URL") || strings.HasPrefix(name, "EBB_") || slices.Contains(connection, name)
}

func sameName(a, b string) bool {
	return a == b || runtime.GOOS == "windows" && strings.EqualFold(a, b)
}

// variableName leaves an equals sign in front alone: Windows keeps the directory of each drive in variables like =C:.
func variableName(entry string) string {
	if i := strings.IndexByte(entry[min(1, len(entry)):], '='); i >= 0 {
		return entry[:i+1]
	}
	return entry
}

// withheldNote ends the error of a failed command. The settings of ebb are one word in it: some are set in every
// run, and hardly ever are they what the command missed.
func withheldNote(withheld []string) string {
	var names []string
	settings := false
	for _, name := range withheld {
		if strings.HasPrefix(name, "EBB_") {
			settings = true
			continue
		}
		names = append(names, name)
	}
	if settings {
		names = append(names, "EBB_*")
	}
	if len(names) == 0 {
		return ""
	}
	return " (withheld from the command: " + strings.Join(names, ", ") + "; EBB_PASS_ENV names exceptions)"
}
