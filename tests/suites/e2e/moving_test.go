package e2e

import (
	"bytes"
	"cmp"
	"image"
	"image/color"
	"image/draw"
	"image/gif"
	"image/png"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// The README's moving picture is the real page, from the request over the click to the end of the same message; -update-picture takes it anew.
// As with the other pictures only what it shows is compared: as many frames, of the page's size.
func TestMovingPicture(t *testing.T) {
	b := start(t, settings{yaml: "approvals: {timeout: 5m}\n"})
	if err := os.WriteFile(b.workspace("notes.txt"), []byte("hello"), 0o600); err != nil {
		t.Fatal(err)
	}
	p := browse(t, b)
	var film gif.GIF
	take := func(shown time.Duration) {
		t.Helper()
		taken, err := chromedp.Run(p.ctx, chromedp.CaptureScreenshot())
		if err != nil {
			t.Fatal(err)
		}
		frame, err := png.Decode(bytes.NewReader(taken))
		if err != nil {
			t.Fatal(err)
		}
		film.Image = append(film.Image, few(frame))
		film.Delay = append(film.Delay, int(shown/(10*time.Millisecond)))
	}
	p.do(chromedp.SendKeys(chromedp.CSS("#say"), "read notes.txt and write bye to b.txt"))
	take(1500 * time.Millisecond)
	p.key(kb.Enter)
	p.until(asked + ` && document.querySelectorAll(".step[data-state=done]").length === 1`)
	take(2500 * time.Millisecond)
	button := `document.querySelector(".ask .answers .choices [data-choice=allow_once]")`
	p.until(`(b => { b.focus(); b.style.outline = "3px solid currentColor"; return true })(` + button + `)`) // where the click goes
	take(900 * time.Millisecond)
	p.until(`(b => { b.style.outline = ""; return true })(` + button + `)`)
	p.press(".ask .answers .choices [data-choice=allow_once]")
	p.until(isDone)
	if got := b.content("b.txt"); got != "bye" || look[int](p, `document.querySelectorAll(".bot").length`) != 1 {
		t.Fatalf("the file says %q; the page: %s", got, look[string](p, `document.body.innerText`))
	}
	take(4 * time.Second)

	file := filepath.Join("..", "..", "..", "docs", "first-minute.gif")
	if *updatePicture {
		var out bytes.Buffer
		if err := gif.EncodeAll(&out, &film); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, out.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	kept, err := gif.DecodeAll(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	if is, was := film.Image[0].Bounds(), kept.Image[0].Bounds(); is != was || len(kept.Image) != len(film.Image) {
		t.Errorf("%d frames of %v, the picture %d of %v: take it anew with -run MovingPicture -update-picture", len(film.Image), is, len(kept.Image), was)
	}
}

// few is a picture in the 256 colours that it has most of: a page has few, and dithering would only blur its letters.
func few(of image.Image) *image.Paletted {
	count := map[color.RGBA]int{}
	at := of.Bounds()
	for y := at.Min.Y; y < at.Max.Y; y++ {
		for x := at.Min.X; x < at.Max.X; x++ {
			count[color.RGBAModel.Convert(of.At(x, y)).(color.RGBA)]++
		}
	}
	most := slices.SortedFunc(maps.Keys(count), func(a, b color.RGBA) int {
		return cmp.Or(cmp.Compare(count[b], count[a]), cmp.Compare(uint32(a.R)<<16|uint32(a.G)<<8|uint32(a.B), uint32(b.R)<<16|uint32(b.G)<<8|uint32(b.B)))
	})
	var colours color.Palette
	for _, c := range most[:min(256, len(most))] {
		colours = append(colours, c)
	}
	out := image.NewPaletted(at, colours)
	draw.Draw(out, at, of, at.Min, draw.Src)
	return out
}
