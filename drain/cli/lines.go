package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"

	"github.com/jackc/pgx/v5"

	"github.com/seed829e008e/ebb/drain"
)

const (
	// inMemory is how much of standard input is kept in memory while its lines are checked. What is more goes to a file.
	inMemory = 16 << 20
	// A chunk is what one statement inserts: so many lines, or so many bytes where that is less.
	chunkLines = 1000
	chunkBytes = 4 << 20
)

// enqueueLines inserts all lines in one transaction. They were checked before it connects, so that a bad one costs nothing
// and a slow input holds no transaction open.
func (p *program) enqueueLines(ctx context.Context, c Config, database source, e enqueueing, lines *spool) error {
	return p.withConnection(ctx, c, database, func(conn *pgx.Conn, _ *slog.Logger) error {
		inserted, err := insertLines(ctx, conn, c.Schema, e, lines)
		if err != nil {
			return notMigrated(ctx, conn, c.Schema, err)
		}
		if _, err = fmt.Fprintf(p.stdout, "%d inserted\n", inserted); err != nil {
			err = fmt.Errorf("%d jobs are inserted, which could not be printed: %w", inserted, err)
		}
		return err
	})
}

// checkLines reads all lines and keeps them.
func checkLines(in io.Reader) (*spool, error) {
	kept := &spool{}
	err := eachLine(in, func(number int, line []byte) error {
		if err := drain.CheckPayload(line); err != nil {
			return wrong("line %d: %w; nothing is inserted", number, err)
		}
		return kept.add(line)
	})
	if err != nil {
		kept.close()
		return nil, err
	}
	return kept, nil
}

func insertLines(ctx context.Context, conn *pgx.Conn, schema string, e enqueueing, lines *spool) (inserted int64, err error) {
	if err := e.due(ctx, conn); err != nil {
		return 0, err
	}
	tx, err := conn.Begin(ctx)
	if err != nil {
		return 0, err
	}
	defer tx.Rollback(context.WithoutCancel(ctx)) // after a commit it does nothing
	var chunk []drain.NewJob
	size := 0
	flush := func() error {
		n, err := drain.EnqueueMany(ctx, tx, schema, chunk)
		inserted += n
		chunk, size = chunk[:0], 0
		return err
	}
	in, err := lines.reader()
	if err != nil {
		return 0, err
	}
	err = eachLine(in, func(_ int, line []byte) error {
		job := e.job
		job.Payload = json.RawMessage(bytes.Clone(line))
		chunk, size = append(chunk, job), size+len(line)
		if len(chunk) < chunkLines && size < chunkBytes {
			return nil
		}
		return flush()
	})
	if err == nil && len(chunk) > 0 {
		err = flush()
	}
	if err != nil {
		return 0, err
	}
	return inserted, tx.Commit(ctx)
}

// eachLine gives every line that is not blank, with its number.
func eachLine(in io.Reader, do func(number int, line []byte) error) error {
	r := bufio.NewReaderSize(in, 64<<10)
	for number := 1; ; number++ {
		line, err := r.ReadBytes('\n')
		if text := bytes.Trim(line, " \t\r\n"); len(text) > 0 {
			if err := do(number, text); err != nil {
				return err
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("standard input: %w", err)
		}
	}
}

// A spool keeps lines: in memory while they are few, else in a file that is gone with the process.
type spool struct {
	memory bytes.Buffer
	file   *os.File
	out    *bufio.Writer
}

func (s *spool) add(line []byte) error {
	if s.file == nil && s.memory.Len()+len(line) < inMemory {
		s.memory.Write(line)
		s.memory.WriteByte('\n')
		return nil
	}
	if s.file == nil {
		f, err := os.CreateTemp("", "ebb-lines-")
		if err != nil {
			return fmt.Errorf("more than %d MB of lines need a file for the time of the check: %w; set TMPDIR to a folder that may be written", inMemory>>20, err)
		}
		s.file, s.out = f, bufio.NewWriterSize(f, 64<<10)
		if _, err := s.memory.WriteTo(s.out); err != nil {
			return err
		}
	}
	if _, err := s.out.Write(line); err != nil {
		return err
	}
	return s.out.WriteByte('\n')
}

func (s *spool) reader() (io.Reader, error) {
	if s.file == nil {
		return &s.memory, nil
	}
	if err := s.out.Flush(); err != nil {
		return nil, err
	}
	_, err := s.file.Seek(0, io.SeekStart)
	return s.file, err
}

func (s *spool) close() {
	if s.file != nil {
		s.file.Close()
		os.Remove(s.file.Name())
	}
}
