package schematest

import (
	"net/url"
	"os"
)

// pooler is read before any test can set the variable for the program that it tests.
var pooler = os.Getenv("TEST_POOLER")

// IsPooled says whether the URLs of this process' databases lead through a pooler.
func IsPooled() bool { return pooler != "" }

// Direct is the URL of a database past the pooler, if there is one. Others than those of [New] and [Empty] stay as they
// are.
func Direct(database string) string {
	if server, err := server(); err == nil && pooler != "" && hostOf(database) == pooler {
		return onHost(database, hostOf(server))
	}
	return database
}

// pooled is the URL of a database through the pooler, if there is one.
func pooled(database string) string {
	if pooler == "" {
		return database
	}
	return onHost(database, pooler)
}

func hostOf(database string) string {
	u, err := url.Parse(database)
	if err != nil {
		return ""
	}
	return u.Host
}

func onHost(database, host string) string {
	u, err := url.Parse(database)
	if err != nil {
		return database
	}
	u.Host = host
	return u.String()
}
