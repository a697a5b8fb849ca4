package state

import (
	"maps"
	"testing"
)

// What was installed is replaced and forgotten only by whoever read what is there now.
func TestInstalls(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, a, b *Store) {
		ctx := t.Context()
		want := func(want map[string]string) {
			t.Helper()
			if got, err := b.Installs(ctx); err != nil || !maps.Equal(got, want) {
				t.Errorf("%v, %v; want %v", got, err, want)
			}
		}
		do := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		want(map[string]string{})
		do(a.Reinstall(ctx, "T1", "old", "new")) // there is none to replace
		want(map[string]string{})
		do(a.Install(ctx, "T1", "one"))
		do(b.Install(ctx, "T2", "two"))
		do(a.Install(ctx, "T1", "again"))
		do(b.Reinstall(ctx, "T1", "one", ""))
		do(b.Reinstall(ctx, "T1", "one", "three"))
		want(map[string]string{"T1": "again", "T2": "two"})
		do(b.Reinstall(ctx, "T1", "again", "anew"))
		do(b.Reinstall(ctx, "T2", "two", ""))
		want(map[string]string{"T1": "anew"})
	})
}
