package cli

import (
	"fmt"
	"io"
	"log/slog"

	"github.com/jackc/pgx/v5"
	"github.com/spf13/cobra"

	"github.com/seed829e008e/ebb/schema"
)

func (p *program) migrateCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "migrate [flags]",
		Short: "Make the tables, or bring them to this ebb's version",
		Long: `Make ebb's tables, or bring them to the version that this ebb needs. It may run any number of times, and at the same
time in several places; stopped in the middle, it goes on where it is run again. A jobs table of before ebb becomes
ebb's, rows and all, if its columns are what ebb expects: EBB_SCHEMA=public ebb migrate. Where another role owns it,
name that with --owner: the triggers on it run with every job. One of more than 8 MB is
adopted beside those who use it, with a second connection that looks whom its indexes wait for`,
		Args: noArguments,
	}
	by := settingFlags(c)
	print := c.Flags().Bool("print", false, "print the SQL for a database without the tables, and touch nothing")
	owner := c.Flags().String("owner", "", "adopt a jobs table of before ebb that belongs to this other role")
	c.RunE = func(c *cobra.Command, _ []string) error {
		config, database, _, err := p.settings(*by, nil, !*print)
		if err != nil {
			return err
		}
		if *print {
			sql, err := schema.SQL(config.Schema)
			if err != nil {
				return err
			}
			_, err = io.WriteString(p.stdout, sql)
			return err
		}
		return p.withConnection(c.Context(), config, database, func(conn *pgx.Conn, log *slog.Logger) error {
			if err := schema.MigrateFrom(c.Context(), conn, config.Schema, *owner, log); err != nil {
				return err
			}
			_, err := fmt.Fprintf(p.stdout, "schema %s is at version %d\n", config.Schema, schema.Version)
			return err
		})
	}
	return c
}
