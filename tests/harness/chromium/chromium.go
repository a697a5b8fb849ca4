// Package chromium is a headless Chromium in which tests look at pages, and a person's keyboard for it.
package chromium

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"github.com/nodhq/nod/tests/harness/need"
)

// opens is how long the program may take to open, on a machine that does much beside it.
const opens = time.Minute

var shared = struct {
	once sync.Once
	ctx  context.Context
	stop func()
	err  error
}{stop: func() {}}

// Open opens an empty tab with cookies and storage of its own, in the one process that all tests of a package share. It is closed with the test,
// and after the time given: chromedp's calls fail then.
func Open(t testing.TB, within time.Duration) context.Context {
	t.Helper()
	path := need.Program(t, "chromium", "chromium", "chromium-browser", "google-chrome", "chrome")
	shared.once.Do(func() {
		ctx, cancel := chromedp.NewExecAllocator(context.Background(), append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]),
			chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.NoFirstRun, chromedp.WSURLReadTimeout(opens),
			chromedp.Flag("disable-component-update", true),
			// A process is not started before a page needs one: of each tab's time that takes a tenth.
			chromedp.Flag("disable-features", "Translate,BlinkGenPropertyTrees,SpareRendererForSitePerProcess"))...)
		ctx, tab := chromedp.NewContext(ctx)
		shared.ctx, shared.stop = ctx, func() { tab(); cancel() }
		shared.err = chromedp.Do(ctx, chromedp.Navigate("about:blank"))
	})
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	ctx, cancel := context.WithTimeout(shared.ctx, within)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx, chromedp.WithNewBrowserContext())
	t.Cleanup(cancel)
	// Each page believes that its window is the one in front, whatever other tests open.
	if _, err := chromedp.Call(ctx, emulation.SetFocusEmulationEnabled, emulation.SetFocusEmulationEnabledParams{Enabled: true}); err != nil {
		t.Fatal(err)
	}
	return ctx
}

// Stop ends the process, if a test began it: for TestMain.
func Stop() { shared.stop() }
