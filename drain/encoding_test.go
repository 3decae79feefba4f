package drain_test

import (
	"context"
	"errors"
	"net/url"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/seed829e008e/ebb/drain"
	"github.com/seed829e008e/ebb/schema"
	"github.com/seed829e008e/ebb/schema/schematest"
)

// encoded makes a migrated database of another encoding, and gives a rig on it.
func encoded(t *testing.T, encoding string) *rig {
	t.Helper()
	server := schematest.Connect(t, schematest.Server(t))
	of, err := url.Parse(schematest.Empty(t)) // for a name that nobody else has
	if err != nil {
		t.Fatal(err)
	}
	name := strings.TrimPrefix(of.Path, "/") + "_" + strings.ToLower(encoding)
	if _, err := server.Exec(t.Context(), `create database `+name+` template template0 encoding '`+encoding+`' locale 'C' strategy file_copy`); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		conn, err := pgx.Connect(context.Background(), schematest.Server(t))
		if err == nil {
			defer conn.Close(context.Background())
			_, err = conn.Exec(context.Background(), `drop database `+name+` with (force)`)
		}
		if err != nil {
			t.Error(err)
		}
	})
	of.Path = "/" + name
	query := of.Query()
	query.Set("client_encoding", "UTF8")
	of.RawQuery = query.Encode()
	db := schematest.Connect(t, of.String())
	if err := schema.Migrate(t.Context(), db, "ebb", nil); err != nil {
		t.Fatal(err)
	}
	return &rig{T: t, url: of.String(), db: db}
}

// In a database of whatever encoding every verdict gets through, with a text that says what it can of the handler's.
func TestOtherEncodings(t *testing.T) {
	if schematest.IsPooled() {
		t.Skip("NOT TESTED THROUGH THE POOLER: it knows nothing of this database")
	}
	const spelled = `\u20ac \u00e9 \u65e5 \U0001f600 ?`
	for encoding, said := range map[string]string{"LATIN1": spelled, "WIN1252": spelled, "EUC_JP": spelled, "SQL_ASCII": "€ é 日 😀 \uFFFD", "UTF8": "€ é 日 😀 \uFFFD"} {
		t.Run(encoding, func(t *testing.T) {
			t.Parallel()
			r := encoded(t, encoding)
			r.exec(`insert into ebb.jobs (queue, payload, max_attempts) values ('default', '"failed"', 1), ('default', '"retried"', 5), ('default', '"done"', 5), ('ascii', '"done"', 5)`)
			config := r.config(func(_ context.Context, job drain.Job) error {
				if string(job.Payload) == `"done"` {
					return nil
				}
				return errors.New("€ é 日 😀 \xff")
			})
			config.Host = "hôst €日"
			for _, name := range []string{"café", "日本", "€", "ascii"} {
				config.Queues = append(config.Queues, drain.Queue{Name: name, Handler: config.Queues[0].Handler})
			}
			// A name that the database can hold has its jobs drained, whatever else is configured.
			want := 2
			for _, name := range []string{"café", "日本", "€"} {
				if _, err := r.db.Exec(t.Context(), `insert into ebb.jobs (queue, payload) values ($1, '"done"')`, name); err == nil {
					want++
				}
			}
			config, log := logged(config)
			report := r.run(config)
			if report.Done != want || report.Failed != 1 || report.Retried != 1 || report.Lost != 0 || report.Unhandled != 0 || report.DueLeft != 0 {
				t.Errorf("of %d good jobs: %+v\n%s", want, report, log)
			}
			r.want(`select status, attempts, right(last_error, `+"length($$"+said+"$$)"+`) from ebb.jobs where id <= 2 order by id`,
				`(failed,1,"`+strings.ReplaceAll(said, `\`, `\\`)+`")`, `(queued,1,"`+strings.ReplaceAll(said, `\`, `\\`)+`")`)
			r.want(`select stopped, failed, retried from ebb.jobs_runs`, "(empty,1,1)")

			_, _, err := drain.Enqueue(t.Context(), r.db, "ebb", drain.NewJob{Payload: []byte(`"😀"`)})
			if refused := errors.Is(err, drain.ErrRefused); refused != (want < 5) || refused && !strings.Contains(err.Error(), "encoding") {
				t.Errorf("enqueueing what the database may lack: %v", err)
			}
		})
	}
}
