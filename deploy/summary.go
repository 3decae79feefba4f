package deploy

import (
	"fmt"
	"path"
	"strings"
)

// summaryIn refuses an EBB_SUMMARY_FILE outside of the only place where runs can write: each of them would be refused. The
// rest says who has the summary there without it.
func (j Job) summaryIn(place, without string) error {
	for _, v := range j.Settings {
		if v.Name == "EBB_SUMMARY_FILE" && !strings.HasPrefix(path.Clean(v.Value), place) {
			return fmt.Errorf("EBB_SUMMARY_FILE %s cannot be written where runs are, but in %s; unset it: %s", v.Value, place, without)
		}
	}
	return nil
}
