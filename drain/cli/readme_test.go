package cli

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

const readme = "../../README.md"

func readREADME(t *testing.T) string {
	data, err := os.ReadFile(readme)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// The README's settings table is made from the struct; -update writes it.
func TestREADMESettings(t *testing.T) {
	var want strings.Builder
	for _, s := range Settings() {
		fmt.Fprintf(&want, "| `%s` | %s | %s |\n", s.Variable, quoted(s.Default), quoted(s.Help))
	}
	text := readREADME(t)
	before, rest, ok := strings.Cut(text, "| variable | default | meaning |\n| --- | --- | --- |\n")
	got, after, end := strings.Cut(rest, "\n\n")
	if !ok || !end {
		t.Fatal("there is no settings table in the README")
	}
	if got+"\n" == want.String() {
		return
	}
	if !*update {
		t.Fatalf("the README's settings are not those of Config; write them with: go test ./drain/cli -run README -update\ngot:\n%s\nwant:\n%s", got, &want)
	}
	text = before + "| variable | default | meaning |\n| --- | --- | --- |\n" + want.String() + "\n" + after
	if err := os.WriteFile(readme, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestREADMEExitStatuses(t *testing.T) {
	text := readREADME(t)
	for _, status := range []int{ended, failed, dueLeft, failedForGood, misconfigured, refused} {
		if !strings.Contains(text, fmt.Sprintf("\n| %d | ", status)) {
			t.Errorf("exit status %d is not in the README", status)
		}
	}
}

// quoted keeps <q> from being taken for HTML.
func quoted(text string) string {
	return strings.NewReplacer("<q>", "`<q>`", "<Q>", "`<Q>`").Replace(text)
}
