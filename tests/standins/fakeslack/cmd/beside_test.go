package main

import (
	"encoding/base64"
	"encoding/json"
	"html/template"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/nodhq/nod/tests/standins/fakeslack"
	"github.com/nodhq/nod/tests/standins/stand"
)

// beside is another product's question before a call, or what people see where it has none. testdata/beside.json says where it was read.
type beside struct {
	Name, From, Shape, Then string
	Messages                [][]json.RawMessage
	Window                  *struct {
		Title, Submit, Close string
		Blocks               json.RawMessage
	}
}

type column struct {
	beside
	Messages []message
	Modal    *modal
}

// The question beside other products', as docs/cards.md shows it: each is a message that Slack's rules allow, and says where it was read. With
// -update-cards both pictures are drawn, that of pages with ours from docs/cards-phone.png.
func TestCardsBeside(t *testing.T) {
	s := fakeslack.New(fakeslack.Options{})
	defer s.Close()
	furnish(s)
	docs := filepath.Join("..", "..", "..", "..", "docs")
	var products []beside
	if err := json.Unmarshal([]byte(text(t, "testdata", "beside.json")), &products); err != nil {
		t.Fatal(err)
	}
	show := painter{s: s, names: map[string]string{s.BotUser(): "nod", "UANA": "Ana"}}
	sheet := template.Must(template.ParseFiles(filepath.Join("testdata", "beside.html")))
	_, style, _ := strings.Cut(source, "<style>")
	style, _, _ = strings.Cut(style, "</style>")
	style = strings.NewReplacer(`{{if .Replies}}minmax(420px,46%){{end}}`, "", `{{if .Replies}}main{display:none}{{end}}`, "").Replace(style)
	all := struct {
		Us      string
		Style   template.CSS
		Ours    string
		Columns []column
	}{Us: products[0].Name, Style: template.CSS(style)}
	for _, p := range products {
		x := column{beside: p}
		if p.Shape != "" { // without what was said and done before
			var ours struct{ Blocks []json.RawMessage }
			if err := json.Unmarshal([]byte(text(t, "..", "..", "..", "..", "adapters", "slack", "blocks", "testdata", "shapes", p.Shape+".json")), &ours); err != nil {
				t.Fatal(err)
			}
			p.Messages = [][]json.RawMessage{ours.Blocks[2:]}
		}
		for _, blocks := range p.Messages {
			raw, err := json.Marshal(blocks)
			if err != nil {
				t.Fatal(err)
			}
			_, answer := browse(t, "POST", s.URL()+"chat.postMessage", url.Values{"token": {s.BotToken()}, "channel": {"C1"}, "text": {p.Name}, "blocks": {string(raw)}})
			if !strings.Contains(answer, `"ok":true`) {
				t.Fatal(p.Name, answer)
			}
			posted := s.Messages("C1", "")
			last := posted[len(posted)-1]
			m := show.message(last.TS, last.User, last.Version, true)
			m.Name, m.Initial, m.Colour = p.Name, p.Name[:1], len(all.Columns)
			x.Messages = append(x.Messages, m)
		}
		if w := p.Window; w != nil {
			x.Modal = &modal{Title: w.Title, Submit: w.Submit, Close: w.Close, Body: show.blocks(w.Blocks, nil)}
		}
		all.Columns = append(all.Columns, x)
	}
	var drawn strings.Builder
	if err := sheet.ExecuteTemplate(&drawn, "slack", all); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Allow for this chat</button>", "<code>write_file</code>", "Review Duo actions", "Approve and continue</label>", "files · write_file", "Always allow files</button>", "Wrote hello to notes.txt"} {
		if !strings.Contains(drawn.String(), want) {
			t.Errorf("no message says %q", want)
		}
	}
	told := text(t, docs, "cards.md")
	for _, at := range commit.FindAllStringSubmatch(text(t, "testdata", "beside.json")+text(t, "testdata", "beside.html"), -1) {
		if !strings.Contains(told, "/blob/"+at[1]) {
			t.Errorf("a picture was drawn from %s, and docs/cards.md does not link it", at[0])
		}
	}
	if !*updateCards {
		return
	}
	all.Ours = base64.StdEncoding.EncodeToString([]byte(text(t, docs, "cards-phone.png")))
	var pages strings.Builder
	if err := sheet.ExecuteTemplate(&pages, "page", all); err != nil {
		t.Fatal(err)
	}
	for _, p := range []struct {
		page, picture string
		width, height int
	}{{drawn.String(), "cards-beside-slack.png", 1610, 820}, {pages.String(), "cards-beside-page.png", 1210, 640}} {
		if err := stand.Sheet(p.page, ".log", "nav", filepath.Join(docs, p.picture), p.width, p.height); err != nil {
			t.Fatal(err)
		}
	}
}

var commit = regexp.MustCompile(`@([0-9a-f]{12})`)

func text(t *testing.T, path ...string) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(path...))
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}
