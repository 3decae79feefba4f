package schematest

import (
	"context"
	"crypto/rand"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// dropAfter drops a template at the end of the test.
func dropAfter(t *testing.T, server string, name *string) {
	t.Cleanup(func() {
		if err := do(server, "DROP DATABASE IF EXISTS "+*name); err != nil {
			t.Error(err)
		}
	})
}

func TestTemplateMadeOnce(t *testing.T) {
	server, what := Server(t), rand.Text()
	var fills atomic.Int32
	names := make([]string, 6)
	dropAfter(t, server, &names[0])
	var makers sync.WaitGroup
	for i := range names {
		makers.Go(func() {
			var err error
			names[i], err = template(server, what, func(ctx context.Context, conn *pgx.Conn) error {
				fills.Add(1)
				_, err := conn.Exec(ctx, "CREATE TABLE filled (id int)")
				return err
			})
			if err != nil || names[i] == "" {
				t.Errorf("got %q, %v", names[i], err)
			}
		})
	}
	makers.Wait()
	for _, name := range names {
		if name != names[0] {
			t.Errorf("several templates: %q", names)
		}
	}
	if n := fills.Load(); n != 1 {
		t.Errorf("filled %d times", n)
	}

	// Nobody gets in, so nobody is in the way of a copy.
	var refused *pgconn.PgError
	if _, err := pgx.Connect(t.Context(), at(server, names[0])); !errors.As(err, &refused) || refused.Code != "55000" {
		t.Errorf("connected to the template: %v, want 55000", err)
	}
	conn := Connect(t, create(t, server, names[0]))
	if _, err := conn.Exec(t.Context(), "TABLE filled"); err != nil {
		t.Error(err)
	}
}

func TestTemplateOfItsOwn(t *testing.T) {
	server := Server(t)
	fill := func(context.Context, *pgx.Conn) error { return nil }
	a, err := template(server, rand.Text(), fill)
	if err != nil {
		t.Fatal(err)
	}
	dropAfter(t, server, &a)
	b, err := template(server, rand.Text(), fill)
	if err != nil {
		t.Fatal(err)
	}
	dropAfter(t, server, &b)
	if a == b {
		t.Error("other migrations have the same template")
	}
}

// What a process left that failed or was killed half way is not taken for a template, and is in nobody's way.
func TestTemplateHalfMade(t *testing.T) {
	server, what := Server(t), rand.Text()
	wrong := errors.New("half way")
	var stray *pgx.Conn
	if _, err := template(server, what, func(ctx context.Context, conn *pgx.Conn) (err error) {
		if _, err := conn.Exec(ctx, "CREATE TABLE half (id int)"); err != nil {
			return err
		}
		stray, err = pgx.ConnectConfig(ctx, conn.Config())
		return errors.Join(wrong, err)
	}); !errors.Is(err, wrong) {
		t.Fatalf("got %v, want %v", err, wrong)
	}
	defer stray.Close(context.Background())

	name, err := template(server, what, func(ctx context.Context, conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, "CREATE TABLE half (id int)")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	dropAfter(t, server, &name)
	if strings.HasSuffix(name, "_new") {
		t.Errorf("the template is called %s", name)
	}
}

// A session that is still in the database when it is to be copied is waited for.
func TestAgain(t *testing.T) {
	busy := &pgconn.PgError{Code: "55006"}
	for _, test := range []struct {
		answers []error
		want    error
	}{
		{answers: []error{nil}},
		{answers: []error{busy, busy, nil}},
		{answers: []error{busy, context.Canceled}, want: context.Canceled},
	} {
		tries := 0
		err := again(t.Context(), func() error {
			tries++
			return test.answers[tries-1]
		})
		if err != test.want || tries != len(test.answers) {
			t.Errorf("%v: got %v after %d tries", test.answers, err, tries)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := again(ctx, func() error { return busy }); err != busy {
		t.Errorf("out of time: got %v, want the last real error", err)
	}
}
