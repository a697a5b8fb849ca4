package chromium

import (
	"context"
	"time"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// Type presses keys, one after another: characters, or those that package kb names. As when a person does it, a key goes down with its
// character. chromedp's own way, which sends the character by itself, lets it arrive where a page that took the key has moved the focus meanwhile,
// and breaks a line though the page took Enter.
func Type(ctx context.Context, keys string) error {
	for _, r := range keys {
		down, text := kb.Encode(r), ""
		if len(down) == 3 {
			text = down[1].Text
		}
		down[0].Text = text
		for _, k := range []*input.DispatchKeyEventParams{down[0], down[len(down)-1]} {
			if _, err := chromedp.Call(ctx, input.DispatchKeyEvent, *k); err != nil {
				return err
			}
		}
	}
	return nil
}

// Insert puts text into a field at once, as a paste or a dictation does: most tests are not about typing, which takes a browser 10 ms a key. It waits
// until the page's script runs, as people do: Enter before that is a new line.
func Insert(ctx context.Context, field chromedp.CSS, text string) error {
	if err := Until(ctx, `document.readyState === "complete"`, time.Minute); err != nil {
		return err
	}
	if err := chromedp.Do(ctx, chromedp.Focus(field)); err != nil {
		return err
	}
	_, err := chromedp.Call(ctx, input.InsertText, input.InsertTextParams{Text: text})
	return err
}
