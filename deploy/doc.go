// Package deploy makes the files with which a scheduler starts runs: a Kubernetes CronJob, a systemd service and timer, a
// Lambda function with its schedule, a Cloud Run job, a GitHub workflow. Each is a function of a [Job], a plain struct; it
// reads no environment and no clock but the time that it is given.
//
// The limits hang together, from the inside out:
//
//	0        job timeout + grace        budget        the platform's limit        the next run
//	├────────────────┤                     │                     │                     │
//	├──────────────────────────────────────┤ EBB_MAX_RUNTIME     │                     │
//	├────────────────────────────────────────────────────────────┤                     │
//	├──────────────────────────────────────────────────────────────────────────────────┤ shortest gap
//
// so that a job that is started can end, a run ends by itself before the platform ends it, and the platform ends it
// before the next run is due. What is not set is derived, what does not fit is refused.
package deploy
