package drain_test

const (
	itsSessions = "it looks at ebb's sessions or ends them, and through a pooler they are the pooler's"
	itsSettings = "the startup parameters that it needs are not passed by the pooler"
	itsUsers    = "the user of the URL is the pooler's, not the server's"
	itsSize     = "it holds more sessions in transactions at once than the pooler has connections"
)

// unpooled are the tests that are skipped where TEST_POOLER names a pooler, and why. All others take ebb's connections
// through it, and also those of a proxy that stands before it.
var unpooled = map[string]string{
	"TestDatabaseGoneForGood":              itsSessions,
	"TestEmptyWakeCostsTwoExchanges":       itsSessions,
	"TestHandlersHoldNoSnapshot":           itsSessions,
	"TestHandlersRunOutsideAnyTransaction": itsSessions,
	"TestLinger":                           itsSessions,
	"TestOldSnapshot":                      itsSettings,
	"TestReaperChecksAgainUnderTheLock":    itsSize,
	"TestWrongPassword":                    itsUsers,
}
