package schema

import (
	"embed"
	"fmt"
	"path"
	"slices"
	"strings"
)

// Version is the version of the tables that this package makes: the number of its migrations.
const Version = 1

// oldest is, for each migration, the oldest version that programs may be written for that work on its tables.
var oldest = []int{1}

//go:embed migrations/*.sql
var migrations embed.FS

// steps returns the migrations in their order, filled in for a schema: the first brings it to version 1, and so on.
func steps(schema string) ([]string, error) {
	texts, err := rawSteps()
	for i := range texts {
		texts[i] = fill(texts[i], schema)
	}
	return texts, err
}

// rawSteps returns them as they are written.
func rawSteps() ([]string, error) {
	files, err := migrations.ReadDir("migrations") // sorted by name
	if err != nil {
		return nil, err
	}
	var sql []string
	for i, f := range files {
		if !strings.HasPrefix(f.Name(), fmt.Sprintf("%04d_", i+1)) {
			return nil, fmt.Errorf("migration %d is called %s", i+1, f.Name())
		}
		text, err := migrations.ReadFile(path.Join("migrations", f.Name()))
		if err != nil {
			return nil, err
		}
		sql = append(sql, string(text))
	}
	return slices.Clip(sql), nil
}

// record writes down that a schema is at a version. It is the last statement of every migration.
func record(schema string, version int) string {
	return fill(fmt.Sprintf(`insert into {{schema}}.jobs_version (version, oldest) values (%d, %d)
on conflict (only_row) do update set version = excluded.version, oldest = excluded.oldest, migrated_at = excluded.migrated_at;
`, version, oldest[version-1]), schema)
}
