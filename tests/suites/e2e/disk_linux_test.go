package e2e

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A disk without room: what nod cannot keep it does not take, and says so; what it took stands, and once there is room it goes on.
func TestDiskFull(t *testing.T) {
	t.Parallel()
	disk := t.TempDir()
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=4m"); err != nil {
		t.Skipf("a disk of one's own can be mounted by root only: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(disk, syscall.MNT_DETACH) })
	box, ledger := toolbox(t)
	b := start(t, settings{yaml: box, dir: filepath.Join(disk, "data"), env: startLLM(t).env()})
	const asks = 12
	var rooms [asks]*room
	var open [asks]pendingForm
	ana := b.session("Ana")
	for i := range asks {
		rooms[i] = ana.room()
		open[i] = rooms[i].ask(fmt.Sprintf(`call box__write {"path":"%d"}`, i))
	}

	filler := filepath.Join(disk, "filler")
	if err := os.WriteFile(filler, make([]byte, 4<<20), 0o600); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("the disk is not full: %v", err)
	}
	said := strings.Repeat("A long story. ", 400)
	if status, no := ana.call("POST", rooms[0].path("/messages"), map[string]string{"text": said}, nil); status != http.StatusServiceUnavailable || no.Message == "" {
		t.Errorf("said on a full disk: %d %+v", status, no)
	} else {
		t.Log(no)
	}
	// The last page of the journal has room for a few decisions.
	taken, refused := 0, false
	for i := 0; i < asks && !refused; i++ {
		_, status, no := rooms[i].click(open[i].RequestID, "allow_once")
		switch status {
		case http.StatusOK:
			taken++
		case http.StatusServiceUnavailable:
			refused = true
			t.Log(no)
		default:
			t.Fatalf("allowed on a full disk: %d %+v", status, no)
		}
	}
	if !refused {
		t.Fatalf("%d decisions were taken by a full disk", taken)
	}
	if n := ledger.Count("write", "began"); n > taken {
		t.Errorf("%d ran of %d that were allowed", n, taken)
	}

	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	for i := range taken {
		rooms[i].idle()
	}
	if n := ledger.Count("write", "did"); n != taken {
		t.Errorf("%d ran of %d that were allowed", n, taken)
	}
	b.restart()
	for i := range asks {
		if i >= taken {
			rooms[i].mustClick(rooms[i].waiting(1).Pending[0].RequestID, "allow_once")
		}
		if c := rooms[i].idle(); c.last().statuses() != "write done" || strings.Contains(c.String(), "A long story") {
			t.Errorf("chat %d: %s", i, c)
		}
	}
	if n := ledger.Count("write", "did"); n != asks {
		t.Errorf("%d ran of %d", n, asks)
	}
}
