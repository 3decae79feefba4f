package command

import (
	"slices"
	"testing"
)

func TestEnviron(t *testing.T) {
	environ := []string{
		"PATH=/bin", "DATABASE_URL=postgres://u:secret@h/d", "DATABASE_URL_FILE=/run/url", "DATABASE_URLS=x", "MY_DATABASE_URL=y",
		"PGHOST=h", "PGPASSWORD=secret", "PGSSLROOTCERT=/ca", "PGDATA=/data", "PGUSER_ID=1", "PGLOCALEDIR=/l", "PGPASSWORD=again",
		"EBB_TOKEN=secret", "EBB_QUEUE_EMAIL_COMMAND=./x", "EBB_JOB_ID=7", "EBBTIDE=1",
		"AWS_SECRET_ACCESS_KEY=k", "FOO=bar", "EMPTY=", "ODD", "MULTI=a\nPGHOST=b",
	}
	for _, test := range []struct {
		name          string
		pass          []string
		env, withheld []string
	}{
		{
			name: "nothing passed",
			env: []string{"PATH=/bin", "MY_DATABASE_URL=y", "PGDATA=/data", "PGUSER_ID=1", "PGLOCALEDIR=/l", "EBBTIDE=1",
				"AWS_SECRET_ACCESS_KEY=k", "FOO=bar", "EMPTY=", "ODD", "MULTI=a\nPGHOST=b"},
			withheld: []string{"DATABASE_URL", "DATABASE_URLS", "DATABASE_URL_FILE", "EBB_JOB_ID", "EBB_QUEUE_EMAIL_COMMAND",
				"EBB_TOKEN", "PGHOST", "PGPASSWORD", "PGSSLROOTCERT"},
		},
		{
			name: "exceptions",
			pass: []string{"DATABASE_URL", "PGHOST", "EBB_TOKEN", "NOT_THERE"},
			env: []string{"PATH=/bin", "DATABASE_URL=postgres://u:secret@h/d", "MY_DATABASE_URL=y", "PGHOST=h", "PGDATA=/data",
				"PGUSER_ID=1", "PGLOCALEDIR=/l", "EBB_TOKEN=secret", "EBBTIDE=1", "AWS_SECRET_ACCESS_KEY=k", "FOO=bar", "EMPTY=", "ODD",
				"MULTI=a\nPGHOST=b"},
			withheld: []string{"DATABASE_URLS", "DATABASE_URL_FILE", "EBB_JOB_ID", "EBB_QUEUE_EMAIL_COMMAND", "PGPASSWORD",
				"PGSSLROOTCERT"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			env, withheld := Environ(environ, test.pass)
			if !slices.Equal(env, test.env) {
				t.Errorf("env\n%q, want\n%q", env, test.env)
			}
			if !slices.Equal(withheld, test.withheld) {
				t.Errorf("withheld\n%q, want\n%q", withheld, test.withheld)
			}
		})
	}
	if env, withheld := Environ([]string{"FOO=bar"}, nil); len(env) != 1 || len(withheld) != 0 {
		t.Errorf("%q, %q", env, withheld)
	}
}

func TestWithheldNote(t *testing.T) {
	for _, test := range []struct {
		withheld []string
		want     string
	}{
		{nil, ""},
		{[]string{"DATABASE_URL", "PGPASSWORD"}, " (withheld from the command: DATABASE_URL, PGPASSWORD; EBB_PASS_ENV names exceptions)"},
		{[]string{"DATABASE_URL", "EBB_A", "EBB_B", "PGHOST"}, " (withheld from the command: DATABASE_URL, PGHOST, EBB_*; EBB_PASS_ENV names exceptions)"},
	} {
		if got := withheldNote(test.withheld); got != test.want {
			t.Errorf("%q: %q, want %q", test.withheld, got, test.want)
		}
	}
}
