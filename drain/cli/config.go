package cli

import (
	"time"

	"github.com/seed829e008e/ebb/drain"
	"github.com/seed829e008e/ebb/schedule"
)

// Config is all settings, and the only list of them: the environment variables and flags, the help and the
// README's table are made from its tags.
//
//	env      the variable; its flag is derived from it
//	default  what applies where it is unset, as text: the defaults themselves are those of [drain.Config]
//	help     what it means
//	example  a good value, for the message about a bad one
//	on       the commands that take it as a flag
//	zero     what 0 means; refused where there is no such tag
//	max      the most that makes sense
type Config struct {
	DatabaseURL     Secret        `env:"DATABASE_URL" default:"PGHOST, PGSERVICE, ..." on:"run serve migrate enqueue status plan awake" help:"where the jobs are; as a flag it shows in the machine's process list" example:"postgres://user:password@host:5432/database"`
	DatabaseURLFile string        `env:"DATABASE_URL_FILE" on:"run serve migrate enqueue status plan awake" help:"file that holds the database URL, read again at every connect" example:"/run/secrets/database-url"`
	ConnectTimeout  time.Duration `env:"EBB_CONNECT_TIMEOUT" default:"1m" on:"run serve manifest migrate enqueue status plan awake" help:"patience with a database that resumes" example:"90s"`
	Schema          string        `env:"EBB_SCHEMA" default:"ebb" on:"run serve manifest migrate enqueue status plan" help:"schema of the tables" example:"ebb"`

	Queues      list          `env:"EBB_QUEUES" default:"configured ones, by name" help:"which queues to drain, in order; comma-separated, a comma of a name as \\," example:"urgent,email"`
	Batch       int           `env:"EBB_BATCH" default:"10" max:"10000" on:"run serve manifest" help:"most jobs per claim" example:"10"`
	Concurrency int           `env:"EBB_CONCURRENCY" default:"10" max:"10000" on:"run serve manifest" help:"most handlers at once" example:"10"`
	JobTimeout  time.Duration `env:"EBB_JOB_TIMEOUT" default:"5m, less in a short budget" on:"run serve manifest try" help:"most time for one job" example:"5m"`
	Lease       time.Duration `env:"EBB_LEASE" default:"timeout + grace + 1m" on:"run serve manifest" help:"how long a claim holds before it must be extended" example:"10m"`
	Grace       time.Duration `env:"EBB_GRACE" default:"20s, less in a short budget" on:"run serve manifest" help:"from the stop signal to the last settle" example:"20s"`
	MaxRuntime  time.Duration `env:"EBB_MAX_RUNTIME" default:"1h" on:"run serve manifest" help:"most time for a run" example:"15m"`
	MaxJobs     int           `env:"EBB_MAX_JOBS" default:"no limit" max:"1000000000" on:"run serve manifest" help:"most jobs for a run" example:"1000"`
	Linger      time.Duration `env:"EBB_LINGER" default:"0" zero:"none" on:"run serve manifest" help:"total wait, without a connection, for jobs about to fall due" example:"30s"`
	Backoff     time.Duration `env:"EBB_BACKOFF" default:"10s" on:"run serve manifest try" help:"base of the delay before a retry, doubled with every attempt" example:"10s"`
	MaxBackoff  time.Duration `env:"EBB_MAX_BACKOFF" default:"1h" on:"run serve manifest try" help:"cap of the delay before a retry" example:"1h"`
	PassEnv     list          `env:"EBB_PASS_ENV" default:"none" on:"run serve manifest try" help:"withheld variables to pass to commands anyway; comma-separated" example:"DATABASE_URL,PGPASSWORD"`

	Schedule    schedule.Set  `env:"EBB_SCHEDULE" default:"none" on:"run serve manifest plan" help:"cron lines (one a line) that start runs: ebb serve follows them, ebb manifest prints them for a scheduler, ebb plan weighs them, and a run warns when with them the compute never sleeps" example:"*/30 * * * *"`
	IdleTimeout time.Duration `env:"EBB_IDLE_TIMEOUT" default:"10m, or the preset's" on:"run serve manifest plan awake" help:"the compute's idle timeout" example:"5m"`
	Compute     computeName   `env:"EBB_COMPUTE" default:"none" on:"run serve manifest plan awake" help:"the compute, as a preset: neon, lakebase, aurora, xata or relyt-one" example:"neon"`

	Strict      bool   `env:"EBB_STRICT" default:"false" on:"run serve manifest" help:"exit 4 when a job failed for good in this run, 3 when due jobs are left" example:"true"`
	SummaryFile string `env:"EBB_SUMMARY_FILE" default:"none" on:"run serve manifest" help:"write the summary there too" example:"/dev/termination-log"`
	Addr        string `env:"EBB_ADDR" default:":$PORT, else 127.0.0.1:8080" on:"serve" help:"where ebb serve listens" example:"127.0.0.1:8080"`
	Token       Secret `env:"EBB_TOKEN" default:"none: POST /run is refused" help:"bearer token that POST /run asks for" example:"the output of: openssl rand -hex 32"`
	TokenFile   string `env:"EBB_TOKEN_FILE" on:"serve" help:"file that holds the token, read again at every call" example:"/run/secrets/ebb-token"`

	Log      logFormat `env:"EBB_LOG" default:"text on a terminal, else json" on:"run serve manifest migrate enqueue status plan awake" help:"form of the log: text or json" example:"json"`
	LogLevel logLevel  `env:"EBB_LOG_LEVEL" default:"info" on:"run serve manifest migrate enqueue status plan awake" help:"least level that is logged: debug, info, warn or error" example:"debug"`

	// Groups are the settings of single queues, by the <Q> in their names.
	Groups map[string]Group `env:"-"`

	read    reading        `env:"-"`
	secrets *drain.Secrets `env:"-"` // learns what is read
}

// groupPrefix and <Q>_ begin the variables of a [Group].
const groupPrefix = "EBB_QUEUE_"

// A Group is the settings of one queue: EBB_QUEUE_EMAIL_COMMAND is the handler of the queue email.
type Group struct {
	Command     string        `env:"COMMAND" help:"handler of queue <q>: a command line, split by POSIX quoting, without a shell" example:"./send-email --fast"`
	Name        string        `env:"NAME" default:"<Q> in lower case" help:"the queue's name, where <q> cannot be it" example:"Send-Mail"`
	Timeout     time.Duration `env:"TIMEOUT" default:"EBB_JOB_TIMEOUT" help:"most time for one job of the queue" example:"1m"`
	Concurrency int           `env:"CONCURRENCY" default:"EBB_CONCURRENCY" max:"10000" help:"most handlers of the queue at once" example:"2"`
	Backoff     time.Duration `env:"BACKOFF" default:"EBB_BACKOFF" help:"the queue's own base of the delay before a retry" example:"1m"`
}
