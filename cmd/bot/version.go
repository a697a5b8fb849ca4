package main

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"
)

// version is set by release builds: -ldflags "-X main.version=v1.2.3".
var version = ""

// versionLine is "nod v1.2.3 (commit abc, go1.26 linux/amd64)" as far as the build knows.
func versionLine() string {
	v, commit, dirty := version, "", ""
	if info, ok := debug.ReadBuildInfo(); ok {
		v = cmp.Or(v, info.Main.Version)
		for _, s := range info.Settings {
			switch {
			case s.Key == "vcs.revision":
				commit = "commit " + s.Value[:min(12, len(s.Value))]
			case s.Key == "vcs.modified" && s.Value == "true":
				dirty = " with local changes"
			}
		}
	}
	if commit != "" {
		commit += dirty + ", "
	}
	return fmt.Sprintf("nod %s (%s%s %s/%s)", cmp.Or(v, "(devel)"), commit, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}
