package cli

import (
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// A parameter is one that people write into a connection URL, a keyword string or a service file, or set as a variable of
// libpq's. The table below has every one that libpq 18 knows, and those that other clients put into a URL which ebb may
// share with them. What is neither in it nor a setting of the server's is refused before anything connects: pgx would
// send it to the server, which is then awake, and refuses one at a time.
type parameter struct {
	keyword  string // of a connection URL, a keyword string or a service file
	variable string // of libpq's
	fate     fate
	values   string // those that there are, or those that may be dropped; any where it is empty
	why      string // refused: what to do instead; dropped: why nothing is lost
}

// A fate is what becomes of a parameter.
type fate int

const (
	obeyed   fate = iota // by pgx
	passed               // to the server, as a parameter of the session
	dropped              // without a word, since what ebb does is the same without it
	unobeyed             // with what to do instead, since the connection would be another one than was asked for
)

const (
	flagValues = "0 1"
	otherPools = "ebb has one connection, and no pool to set"
	prepares   = "ebb prepares only where the connection is direct, whatever is said"
	noGSS      = "ebb has no GSSAPI, and a server that insists on it refuses"
	noOAuth    = "ebb cannot sign in by OAuth; use a password or a client certificate"
	ownTimes   = "every exchange of ebb's has a time of its own"
	keepAlives = "Go probes an idle connection by itself, and every exchange of ebb's has a time of its own"
)

var parameters = []parameter{
	// libpq's
	{keyword: "service", variable: "PGSERVICE"},
	{keyword: "servicefile", variable: "PGSERVICEFILE"},
	{keyword: "user", variable: "PGUSER"},
	{keyword: "password", variable: "PGPASSWORD"},
	{keyword: "passfile", variable: "PGPASSFILE"},
	{keyword: "channel_binding", variable: "PGCHANNELBINDING", values: "disable prefer require"},
	{keyword: "connect_timeout", variable: "PGCONNECT_TIMEOUT"},
	{keyword: "dbname", variable: "PGDATABASE"},
	{keyword: "database"},
	{keyword: "host", variable: "PGHOST"},
	{keyword: "hostaddr", variable: "PGHOSTADDR", fate: unobeyed, why: "write the address as the host"},
	{keyword: "port", variable: "PGPORT"},
	{keyword: "client_encoding", variable: "PGCLIENTENCODING", fate: passed, values: "utf8 utf-8 unicode"},
	{keyword: "options", variable: "PGOPTIONS"},
	{keyword: "application_name", variable: "PGAPPNAME"},
	{keyword: "fallback_application_name", fate: dropped, why: "the fallback is ebb"},
	{keyword: "keepalives", fate: dropped, why: keepAlives},
	{keyword: "keepalives_idle", fate: dropped, why: keepAlives},
	{keyword: "keepalives_interval", fate: dropped, why: keepAlives},
	{keyword: "keepalives_count", fate: dropped, why: keepAlives},
	{keyword: "tcp_user_timeout", fate: dropped, why: ownTimes},
	{keyword: "sslmode", variable: "PGSSLMODE", values: "disable allow prefer require verify-ca verify-full"},
	{keyword: "sslnegotiation", variable: "PGSSLNEGOTIATION", values: "postgres direct"},
	{keyword: "sslcompression", variable: "PGSSLCOMPRESSION", fate: dropped, why: "no server since 14 compresses"},
	{keyword: "sslcert", variable: "PGSSLCERT"},
	{keyword: "sslkey", variable: "PGSSLKEY"},
	{keyword: "sslcertmode", variable: "PGSSLCERTMODE", values: "disable allow require"},
	{keyword: "sslpassword", variable: "PGSSLPASSWORD"},
	{keyword: "sslrootcert", variable: "PGSSLROOTCERT"},
	{keyword: "sslcrl", variable: "PGSSLCRL", fate: unobeyed, why: "ebb reads no revocation lists; take the certificate's CA out of sslrootcert instead"},
	{keyword: "sslcrldir", variable: "PGSSLCRLDIR", fate: unobeyed, why: "ebb reads no revocation lists; take the certificate's CA out of sslrootcert instead"},
	{keyword: "sslsni", variable: "PGSSLSNI", values: flagValues},
	{keyword: "requirepeer", variable: "PGREQUIREPEER", fate: unobeyed, why: "ebb does not look who owns a socket; connect by TLS with sslmode=verify-full"},
	{keyword: "require_auth", variable: "PGREQUIREAUTH"},
	{keyword: "min_protocol_version", variable: "PGMINPROTOCOLVERSION", values: "3.0 3.2 latest"},
	{keyword: "max_protocol_version", variable: "PGMAXPROTOCOLVERSION", values: "3.0 3.2 latest"},
	{keyword: "ssl_min_protocol_version", variable: "PGSSLMINPROTOCOLVERSION", fate: dropped, values: "tlsv1 tlsv1.1 tlsv1.2", why: "ebb's least is TLSv1.2"},
	{keyword: "ssl_max_protocol_version", variable: "PGSSLMAXPROTOCOLVERSION", fate: dropped, values: "tlsv1.3", why: "there is none above"},
	{keyword: "gssencmode", variable: "PGGSSENCMODE", fate: dropped, values: "disable prefer", why: noGSS},
	{keyword: "krbsrvname", variable: "PGKRBSRVNAME", fate: dropped, why: noGSS},
	{keyword: "gsslib", variable: "PGGSSLIB", fate: dropped, why: noGSS},
	{keyword: "gssdelegation", variable: "PGGSSDELEGATION", fate: dropped, why: noGSS},
	{keyword: "replication", fate: dropped, values: "false off no 0", why: "that is what ebb's sessions are"},
	{keyword: "target_session_attrs", variable: "PGTARGETSESSIONATTRS", values: "any read-write read-only primary standby prefer-standby"},
	{keyword: "load_balance_hosts", variable: "PGLOADBALANCEHOSTS", fate: dropped, values: "disable random", why: "a run has one connection, to the first of the hosts that answers"},
	{keyword: "scram_client_key", fate: unobeyed, why: "ebb signs in by a password; give it that"},
	{keyword: "scram_server_key", fate: unobeyed, why: "ebb signs in by a password; give it that"},
	{keyword: "oauth_issuer", fate: unobeyed, why: noOAuth},
	{keyword: "oauth_client_id", fate: unobeyed, why: noOAuth},
	{keyword: "oauth_client_secret", fate: unobeyed, why: noOAuth},
	{keyword: "oauth_scope", fate: unobeyed, why: noOAuth},
	{keyword: "sslkeylogfile", fate: unobeyed, why: "ebb writes no keys to files; take it out"},

	// libpq's that are variables only
	{variable: "PGDATESTYLE", keyword: "datestyle", fate: passed},
	{variable: "PGTZ", keyword: "timezone"},
	{variable: "PGGEQO", keyword: "geqo", fate: passed},
	{variable: "PGREQUIRESSL", fate: dropped, values: "0", why: "it asks for nothing"},
	{variable: "PGSYSCONFDIR", fate: dropped, why: "a service that is in no service file of ebb's is refused"},
	{variable: "PGLOCALEDIR", fate: dropped, why: "it is for libpq's own texts"},
	{variable: "PGOAUTHDEBUG", fate: dropped, why: noOAuth},

	// pgx's own and those of its pool
	{keyword: "krbspn", fate: dropped, why: noGSS},
	{keyword: "default_query_exec_mode", values: "cache_statement cache_describe describe_exec exec simple_protocol"},
	{keyword: "statement_cache_capacity"},
	{keyword: "description_cache_capacity"},
	{keyword: "statement_cache_mode", fate: dropped, why: prepares},
	{keyword: "prefer_simple_protocol", fate: dropped, why: prepares},
	{keyword: "pool_max_conns", fate: dropped, why: otherPools},
	{keyword: "pool_min_conns", fate: dropped, why: otherPools},
	{keyword: "pool_min_idle_conns", fate: dropped, why: otherPools},
	{keyword: "pool_max_conn_lifetime", fate: dropped, why: otherPools},
	{keyword: "pool_max_conn_lifetime_jitter", fate: dropped, why: otherPools},
	{keyword: "pool_max_conn_idle_time", fate: dropped, why: otherPools},
	{keyword: "pool_health_check_period", fate: dropped, why: otherPools},
	{keyword: "pool_ping_timeout", fate: dropped, why: otherPools},

	// Prisma's
	{keyword: "pgbouncer", fate: dropped, why: prepares},
	{keyword: "connection_limit", fate: dropped, why: otherPools},
	{keyword: "pool_timeout", fate: dropped, why: otherPools},
	{keyword: "socket_timeout", fate: dropped, why: ownTimes},
	{keyword: "statement_cache_size", fate: dropped, why: prepares},
	{keyword: "schema", fate: dropped, values: "public", why: "it is Prisma's default, and ebb's tables are where EBB_SCHEMA says"},
	{keyword: "sslaccept", fate: dropped, values: "accept_invalid_certs", why: "it asks for nothing"},
	{keyword: "sslidentity", fate: unobeyed, why: "use sslcert and sslkey"},

	// those of other clients: lib/pq, node-postgres, postgres.js, SQLAlchemy, Rails, Ecto, JDBC, Supabase
	{keyword: "ssl", fate: unobeyed, why: "use sslmode=require, or sslmode=verify-full"},
	{keyword: "requiressl", fate: unobeyed, why: "use sslmode=require, or sslmode=verify-full"},
	{keyword: "uselibpqcompat", fate: dropped, why: "sslmode means what it means to libpq"},
	{keyword: "workaround", fate: dropped, why: prepares},
	{keyword: "supa", fate: dropped, why: prepares},
	{keyword: "binary_parameters", fate: dropped, why: prepares},
	{keyword: "prepare", fate: dropped, why: prepares},
	{keyword: "prepared_statements", fate: dropped, why: prepares},
	{keyword: "prepared_statement_cache_size", fate: dropped, why: prepares},
	{keyword: "prepareThreshold", fate: dropped, why: prepares},
	{keyword: "preferQueryMode", fate: dropped, why: prepares},
	{keyword: "async_fallback", fate: dropped, why: otherPools},
	{keyword: "max", fate: dropped, why: otherPools},
	{keyword: "pool", fate: dropped, why: otherPools},
	{keyword: "pool_size", fate: dropped, why: otherPools},
	{keyword: "max_overflow", fate: dropped, why: otherPools},
	{keyword: "idle_timeout", fate: dropped, why: otherPools},
	{keyword: "max_lifetime", fate: dropped, why: otherPools},
	{keyword: "conn_max_age", fate: dropped, why: otherPools},
	{keyword: "encoding", fate: dropped, values: "utf8 utf-8 unicode", why: "it is the only one that ebb speaks"},
	{keyword: "currentSchema", fate: unobeyed, why: "ebb's tables are where EBB_SCHEMA says; take it out"},
}

// serverSettings are the names that a server of version 15 to 18 takes from a session, but for those in the table. A name
// with a dot in it is an extension's or the user's own.
const serverSettings = `
allow_in_place_tablespaces allow_system_table_mods array_nulls backend_flush_after backslash_quote backtrace_functions
bytea_output check_function_bodies client_connection_check_interval client_min_messages commit_delay commit_siblings
compute_query_id constraint_exclusion cpu_index_tuple_cost cpu_operator_cost cpu_tuple_cost createrole_self_grant
cursor_tuple_fraction datestyle deadlock_timeout debug_discard_caches debug_logical_replication_streaming
debug_parallel_query debug_pretty_print debug_print_parse debug_print_plan debug_print_rewritten
default_statistics_target default_table_access_method default_tablespace default_text_search_config
default_toast_compression default_transaction_deferrable default_transaction_isolation default_transaction_read_only
dynamic_library_path effective_cache_size effective_io_concurrency enable_async_append enable_bitmapscan
enable_distinct_reordering enable_gathermerge enable_group_by_reordering enable_hashagg enable_hashjoin
enable_incremental_sort enable_indexonlyscan enable_indexscan enable_material enable_memoize enable_mergejoin
enable_nestloop enable_parallel_append enable_parallel_hash enable_partition_pruning enable_partitionwise_aggregate
enable_partitionwise_join enable_presorted_aggregate enable_self_join_elimination enable_seqscan enable_sort
enable_tidscan escape_string_warning event_triggers exit_on_error extension_control_path extension_destdir
extra_float_digits file_copy_method force_parallel_mode from_collapse_limit geqo geqo_effort geqo_generations
geqo_pool_size geqo_seed geqo_selection_bias geqo_threshold gin_fuzzy_search_limit gin_pending_list_limit
hash_mem_multiplier icu_validation_level idle_in_transaction_session_timeout idle_session_timeout
ignore_checksum_failure ignore_system_indexes intervalstyle io_combine_limit jit jit_above_cost jit_debugging_support
jit_dump_bitcode jit_expressions jit_inline_above_cost jit_optimize_above_cost jit_profiling_support
jit_tuple_deforming join_collapse_limit lc_messages lc_monetary lc_numeric lc_time lo_compat_privileges
local_preload_libraries lock_timeout log_connections log_disconnections log_duration log_error_verbosity
log_executor_stats log_lock_failures log_lock_waits log_min_duration_sample log_min_duration_statement
log_min_error_statement log_min_messages log_parameter_max_length log_parameter_max_length_on_error log_parser_stats
log_planner_stats log_replication_commands log_statement log_statement_sample_rate log_statement_stats log_temp_files
log_transaction_sample_rate logical_decoding_work_mem maintenance_io_concurrency maintenance_work_mem
max_parallel_maintenance_workers max_parallel_workers max_parallel_workers_per_gather max_stack_depth
min_parallel_index_scan_size min_parallel_table_scan_size parallel_leader_participation parallel_setup_cost
parallel_tuple_cost password_encryption plan_cache_mode post_auth_delay quote_all_identifiers random_page_cost
recursive_worktable_factor restrict_nonsystem_relation_kind role row_security scram_iterations search_path seed
seq_page_cost session_authorization session_preload_libraries session_replication_role standard_conforming_strings
statement_timeout stats_fetch_consistency synchronize_seqscans synchronous_commit tcp_keepalives_count
tcp_keepalives_idle tcp_keepalives_interval temp_buffers temp_file_limit temp_tablespaces timezone
timezone_abbreviations trace_notify trace_sort track_activities track_cost_delay_timing track_counts track_functions
track_io_timing track_wal_io_timing transaction_deferrable transaction_isolation transaction_read_only
transaction_timeout transform_null_equals update_process_title vacuum_buffer_usage_limit vacuum_cost_delay
vacuum_cost_limit vacuum_cost_page_dirty vacuum_cost_page_hit vacuum_cost_page_miss vacuum_failsafe_age
vacuum_freeze_min_age vacuum_freeze_table_age vacuum_max_eager_freeze_failure_rate vacuum_multixact_failsafe_age
vacuum_multixact_freeze_min_age vacuum_multixact_freeze_table_age vacuum_truncate wal_compression
wal_consistency_checking wal_init_zero wal_recycle wal_sender_timeout wal_skip_threshold work_mem xmlbinary xmloption
zero_damaged_pages
`

// isServers says whether the server has a setting of the name, however new it is where there is a dot in it.
func isServers(name string) bool {
	return strings.Contains(name, ".") || slices.Contains(strings.Fields(serverSettings), strings.ToLower(name))
}

func byKeyword(name string) (parameter, bool) {
	i := slices.IndexFunc(parameters, func(p parameter) bool { return p.keyword != "" && p.keyword == name })
	if i < 0 {
		return parameter{}, false
	}
	return parameters[i], true
}

// mistake is what is wrong with the parameter's value, or with the parameter; nothing where it can be taken. What is in
// the value is not said: it may be half a password.
func (p parameter) mistake(value string) string {
	values := strings.Fields(p.values)
	fits := len(values) == 0 || value == "" && p.fate != obeyed || slices.Contains(values, strings.ToLower(value))
	switch {
	case p.fate == unobeyed && value != "":
		return "is not obeyed by ebb: " + p.why
	case p.keyword == "connect_timeout" && value != "" && !digits.MatchString(value):
		return "is not a number of seconds"
	case p.keyword == "options":
		return wrongOptions(value)
	case p.keyword == "" && !fits: // PGREQUIRESSL
		return "is not obeyed by ebb: set PGSSLMODE=require"
	case !fits:
		return "has a value that ebb does not obey; use " + alternatives(values) + ", or take it out"
	}
	return ""
}

func alternatives(values []string) string {
	last := len(values) - 1
	if last == 0 {
		return values[0]
	}
	return strings.Join(values[:last], ", ") + " or " + values[last]
}

// goodOption is what a session is asked for in options: -c name=value, --name=value, and what proxies look for there, as
// endpoint=name.
var goodOption = regexp.MustCompile(`^(-c ?|--)?[A-Za-z_][A-Za-z0-9_.-]*=`)

// wrongOptions keeps from the server what it would refuse, and repeat.
func wrongOptions(value string) string {
	for _, o := range optionsIn(value) {
		if !goodOption.MatchString(o) {
			return "has an argument that is not -c name=value; in a value write a space as \\ and a space"
		}
	}
	return ""
}

// optionsIn divides options as the server does, where a backslash keeps what comes after it. A -c that stands alone is put
// together with what it is for.
func optionsIn(value string) (all []string) {
	word, in, escaped := "", false, false
	end := func() {
		if n := len(all) - 1; in && n >= 0 && all[n] == "-c" {
			all[n] += " " + word
		} else if in {
			all = append(all, word)
		}
		word, in = "", false
	}
	for _, b := range []byte(value) {
		switch {
		case escaped:
			word, escaped = word+string([]byte{b}), false
		case b == '\\':
			in, escaped = true, true
		case strings.IndexByte(" \t\n\r\v\f", b) >= 0:
			end()
		default:
			word, in = word+string([]byte{b}), true
		}
	}
	end()
	return all
}

// pair finds key=value in a keyword string.
var pair = regexp.MustCompile(`([^\s=]+)\s*=\s*('(?:[^'\\]|\\.)*'|(?:[^\s\\]|\\.)*)`)

// writtenIn are the parameters that a connection URL or a keyword string has, also where pgx cannot read all of it.
func writtenIn(text string) map[string]string {
	all := map[string]string{}
	if !isURL(text) {
		for _, found := range pair.FindAllStringSubmatch(text, -1) {
			all[found[1]] = strings.Trim(found[2], "'")
		}
		return all
	}
	_, query, _ := strings.Cut(text, "?")
	values, _ := url.ParseQuery(strings.ReplaceAll(query, "+", "%2B")) // what of it can be read; a + is one
	for key := range values {
		all[key] = values[key][len(values[key])-1]
	}
	if strings.EqualFold(all["ssl"], "true") { // pgx takes it for sslmode=require, as libpq does
		delete(all, "ssl")
	}
	return all
}

// wrongParameters says what is wrong with parameters, each named, but for a name that nobody knows: it may be half a
// password.
func wrongParameters(where string, written map[string]string) (mistakes []error) {
	for _, key := range slices.Sorted(maps.Keys(written)) {
		if p, known := byKeyword(key); known {
			if wrong := p.mistake(written[key]); wrong != "" {
				mistakes = append(mistakes, fmt.Errorf("%s: %s %s", where, key, wrong))
			}
			continue
		}
		if isServers(key) {
			continue
		}
		remedy := "take it out, or write a setting of the server's as options=-c%20name=value"
		if hint := nearestParameter(key); hint != "" {
			remedy = "did you mean " + hint + "?"
		}
		mistakes = append(mistakes, fmt.Errorf("%s has a parameter that neither ebb nor Postgres knows; %s", where, remedy))
	}
	return mistakes
}

// nearestParameter is the name that was probably meant.
func nearestParameter(name string) string {
	known := strings.Fields(serverSettings)
	for _, p := range parameters {
		if p.keyword != "" && p.fate == obeyed {
			known = append(known, p.keyword)
		}
	}
	return nearest(name, known)
}
