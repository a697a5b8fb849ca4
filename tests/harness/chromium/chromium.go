// Package chromium is a headless Chromium in which tests look at pages, and a person's keyboard for it.
package chromium

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/storage"
	"github.com/chromedp/cdproto/target"
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
	blank *httptest.Server

	mu   sync.Mutex
	free []profile
}

// profile has cookies and storage of its own. Its one tab keeps the process that draws what tests open beside it: to start one takes longer than most tests.
type profile struct {
	ctx   context.Context
	close func()
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
			chromedp.Flag("disable-component-update", true), chromedp.Flag("process-per-site", true),
			// A process is not started before a page needs one: of each tab's time that takes a tenth.
			chromedp.Flag("disable-features", "Translate,BlinkGenPropertyTrees,SpareRendererForSitePerProcess"))...)
		ctx, tab := chromedp.NewContext(ctx)
		p.blank = httptest.NewServer(http.NotFoundHandler())
		p.ctx, p.stop = ctx, func() { tab(); cancel(); p.blank.Close() }
		p.err = chromedp.Do(ctx, chromedp.Navigate("about:blank"))
	})
	if p.err != nil {
		t.Fatal(p.err)
	}
	in := p.profile(t)
	ctx, cancel := context.WithTimeout(in.ctx, within)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(func() {
		clean := !t.Failed() && in.clean(ctx)
		cancel()
		if !clean {
			in.close()
			return
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		p.free = append(p.free, in)
	})
	// Each page believes that its window is the one in front, whatever other tests open.
	if _, err := chromedp.Call(ctx, emulation.SetFocusEmulationEnabled, emulation.SetFocusEmulationEnabledParams{Enabled: true}); err != nil {
		t.Fatal(err)
	}
	return ctx
}

// profile is one that no test uses, or a new one.
func (p *program) profile(t testing.TB) profile {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	if n := len(p.free); n > 0 {
		in := p.free[n-1]
		p.free = p.free[:n-1]
		return in
	}
	ctx, cancel := chromedp.NewContext(p.ctx, chromedp.WithNewBrowserContext())
	if err := chromedp.Do(ctx, chromedp.Navigate(p.blank.URL)); err != nil {
		t.Fatal(err)
	}
	return profile{ctx, cancel}
}

// clean forgets what a test's tab has kept, and says whether it did: what is not certain to be clean is not used again.
func (p profile) clean(ctx context.Context) bool {
	infos, err := chromedp.Targets(ctx)
	if err != nil {
		return false
	}
	c, keeper := chromedp.FromContext(ctx), chromedp.FromContext(p.ctx)
	others := slices.ContainsFunc(infos, func(i *target.Info) bool {
		return i.BrowserContextID == keeper.BrowserContextID && i.TargetID != keeper.Target.TargetID && i.TargetID != c.Target.TargetID
	})
	origin, err := chromedp.Run(ctx, chromedp.Evaluate[string]("location.origin"))
	if err != nil || others {
		return false
	}
	_, err = chromedp.Call(ctx, storage.ClearDataForOrigin, storage.ClearDataForOriginParams{Origin: origin, StorageTypes: "all"})
	if err == nil {
		_, err = chromedp.Call(ctx, storage.ClearCookies, storage.ClearCookiesParams{})
	}
	return err == nil
}

// Until waits for a condition of the page. It asks by the clock: in each of the page's frames, as chromedp asks by itself, they are drawn for that.
func Until(ctx context.Context, js string, within time.Duration) error {
	_, err := chromedp.Run(ctx, chromedp.Poll[bool](js, chromedp.WithPollingInterval(30*time.Millisecond), chromedp.WithPollingTimeout(within)))
	return err
}

// Stop ends what tests began: for TestMain.
func Stop() {
	for _, p := range []*program{&light, &whole} {
		if p.stop != nil {
			p.stop()
		}
	}
}
