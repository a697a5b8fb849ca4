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

// program is a browser's one process, which all tests of a package share.
type program struct {
	names []string // the first that is installed
	once  sync.Once
	ctx   context.Context
	stop  func()
	err   error
}

var (
	whole = program{names: []string{"chromium", "chromium-browser", "google-chrome", "chrome"}}
	// Chromium without its own windows, menus and profiles: the same pages for a third of the processor's time.
	light = program{names: append([]string{"chromium-headless-shell", "chrome-headless-shell"}, whole.names...)}
)

// Open opens an empty tab with cookies and storage of its own. It is closed with the test, and after the time given: chromedp's calls fail then.
func Open(t testing.TB, within time.Duration) context.Context { return light.open(t, within) }

// OpenWhole is Open in a whole browser: another one has no notifications and is pushed nothing.
func OpenWhole(t testing.TB, within time.Duration) context.Context { return whole.open(t, within) }

func (p *program) open(t testing.TB, within time.Duration) context.Context {
	t.Helper()
	path := need.Program(t, "chromium", p.names...)
	p.once.Do(func() {
		ctx, cancel := chromedp.NewExecAllocator(context.Background(), append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]),
			chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.NoFirstRun, chromedp.WSURLReadTimeout(opens),
			chromedp.Flag("disable-component-update", true),
			// A process is not started before a page needs one: of each tab's time that takes a tenth.
			chromedp.Flag("disable-features", "Translate,BlinkGenPropertyTrees,SpareRendererForSitePerProcess"))...)
		ctx, tab := chromedp.NewContext(ctx)
		p.ctx, p.stop = ctx, func() { tab(); cancel() }
		p.err = chromedp.Do(ctx, chromedp.Navigate("about:blank"))
	})
	if p.err != nil {
		t.Fatal(p.err)
	}
	ctx, cancel := context.WithTimeout(p.ctx, within)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx, chromedp.WithNewBrowserContext())
	t.Cleanup(cancel)
	// Each page believes that its window is the one in front, whatever other tests open.
	if _, err := chromedp.Call(ctx, emulation.SetFocusEmulationEnabled, emulation.SetFocusEmulationEnabledParams{Enabled: true}); err != nil {
		t.Fatal(err)
	}
	return ctx
}

// Stop ends what tests began: for TestMain.
func Stop() {
	for _, p := range []*program{&light, &whole} {
		if p.stop != nil {
			p.stop()
		}
	}
}
