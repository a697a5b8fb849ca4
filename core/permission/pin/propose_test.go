package pin

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/nodhq/nod/core/render"
	"github.com/nodhq/nod/core/text"
)

const links = " (as text; the server follows links)"

// What is proposed for a call, in the words that people read.
// R154 R155
func TestPropose(t *testing.T) {
	long := strings.Repeat("word ", 41)
	for _, c := range []struct {
		name, args string
		want       []string
	}{
		{"R155: one operation", `{"method":"GET","url":"https://example.org/x"}`, []string{
			`Only when method is "GET" and url is "https://example.org/x", with no other arguments`}},
		{"R154: a file with long content", `{"content":"a\nb","path":"/srv/a/x.txt"}`, []string{
			`Only when path is "/srv/a/x.txt", with any content and no other arguments`,
			`Only when path is under "/srv/a/**", with any content and no other arguments` + links}},
		{"a file with short content", `{"content":"ok","mode":"append","path":"/srv/a/x.txt"}`, []string{
			`Only when content is "ok" and mode is "append" and path is "/srv/a/x.txt", with no other arguments`,
			`Only when path is under "/srv/a/**" and mode is "append", with any content and no other arguments` + links}},
		{"both ends of a move", `{"destination":"/srv/a/out/x.md","source":"/srv/a/in/x.md"}`, []string{
			`Only when destination is "/srv/a/out/x.md" and source is "/srv/a/in/x.md", with no other arguments`,
			`Only when destination and source are under "/srv/a/**", with no other arguments` + links}},
		{"from and to", `{"from":"/srv/a/x.md","overwrite":false,"to":"/srv/a/y.md"}`, []string{
			`Only when from is "/srv/a/x.md" and overwrite is false and to is "/srv/a/y.md", with no other arguments`,
			`Only when from and to are under "/srv/a/**" and overwrite is false, with no other arguments` + links}},
		{"a directory is itself the directory", `{"directory":"/srv/a/b"}`, []string{
			`Only when directory is "/srv/a/b", with no other arguments`,
			`Only when directory is under "/srv/a/b/**", with no other arguments` + links}},
		{"a directory and a file in it", `{"dir":"docs","filePath":"docs/a/x.md"}`, []string{
			`Only when dir is "docs" and filePath is "docs/a/x.md", with no other arguments`,
			`Only when dir and filePath are under "docs/**", with no other arguments` + links}},
		{"Windows", `{"file_path":"C:\\srv\\a\\x"}`, []string{
			`Only when file_path is "C:\\srv\\a\\x", with no other arguments`,
			`Only when file_path is under "C:\\srv\\a\\**", with no other arguments` + links}},
		{"ends that are no paths", `{"from":"FRA","to":"JFK"}`, []string{`Only when from is "FRA" and to is "JFK", with no other arguments`}},
		{"a relative end stays as it is", `{"path":"docs/a/x.md","target":"docs/y"}`, []string{
			`Only when path is "docs/a/x.md" and target is "docs/y", with no other arguments`,
			`Only when path is under "docs/a/**" and target is "docs/y", with no other arguments` + links}},
		{"names that need quotes", `{"a.b":1,"c d":true,"e/f~":null}`, []string{
			`Only when "/a.b" is 1 and "/c d" is true and "/e~1f~0" is null, with no other arguments`}},
		{"lists and objects as they are", `{"o":{"b":[1,2]},"paths":["/srv/a/x"]}`, []string{
			`Only when o is {"b":[1,2]} and paths is ["/srv/a/x"], with no other arguments`}},
		{"texts of several kinds", `{"body":"` + long + `","commit_message":"a\nb","to":"x"}`, []string{
			`Only when to is "x", with any body, any commit_message and no other arguments`}},
		{"201 characters are long", `{"note":"` + strings.Repeat("é", 201) + `","to":"x"}`, []string{`Only when to is "x", with any note and no other arguments`}},
		{"200 are not, and do not fit", `{"note":"` + strings.Repeat("é", 200) + `","to":"x"}`, nil},
		{"lines of an old kind", `{"note":"a\rb","to":"x"}`, []string{`Only when to is "x", with any note and no other arguments`}},
		{"content that is no text", `{"content":[1],"path":"/srv/a/x.md"}`, []string{
			`Only when content is [1] and path is "/srv/a/x.md", with no other arguments`,
			`Only when path is under "/srv/a/**" and content is [1], with no other arguments` + links}},
		{"as much as a card shows", `{"content":"` + strings.Repeat("a", render.MaxArgs-20) + `","n":1}`, []string{`Only when n is 1, with any content and no other arguments`}},
		{"a path that is a number is no path", `{"file":3,"path":"/srv/a/x.md"}`, []string{
			`Only when file is 3 and path is "/srv/a/x.md", with no other arguments`,
			`Only when path is under "/srv/a/**" and file is 3, with no other arguments` + links}},

		{"too wide: the root", `{"path":"/x"}`, []string{`Only when path is "/x", with no other arguments`}},
		{"too wide: right below the root", `{"file":"/etc/passwd"}`, []string{`Only when file is "/etc/passwd", with no other arguments`}},
		{"too wide: a directory right below the root", `{"dir":"/etc"}`, []string{`Only when dir is "/etc", with no other arguments`}},
		{"too wide: a drive", `{"path":"C:\\x"}`, []string{`Only when path is "C:\\x", with no other arguments`}},
		{"too wide: right below a drive", `{"file":"C:\\srv\\x"}`, []string{`Only when file is "C:\\srv\\x", with no other arguments`}},
		{"too wide: here", `{"path":"x.txt"}`, []string{`Only when path is "x.txt", with no other arguments`}},
		{"too wide: shared by both", `{"dst":"/srv/b/x","src":"/srv/a/x"}`, []string{`Only when dst is "/srv/b/x" and src is "/srv/a/x", with no other arguments`}},
		{"absolute and relative", `{"cwd":"/srv/a","path":"docs/x"}`, []string{`Only when cwd is "/srv/a" and path is "docs/x", with no other arguments`}},
		{"two drives", `{"dst":"D:\\a\\b\\x","src":"C:\\a\\b\\x"}`, []string{`Only when dst is "D:\\a\\b\\x" and src is "C:\\a\\b\\x", with no other arguments`}},
		{"a path that climbs", `{"path":"/srv/a/../b/x"}`, []string{`Only when path is "/srv/a/../b/x", with no other arguments`}},
		{"one of two paths cannot be read", `{"file":"/srv/a/$X","path":"/srv/a/x"}`, []string{`Only when file is "/srv/a/$X" and path is "/srv/a/x", with no other arguments`}},
		{"the other one", `{"file":"/srv/a/x","path":""}`, []string{`Only when file is "/srv/a/x" and path is "", with no other arguments`}},
		{"a directory that cannot be read", `{"dir":"/srv/a/b/"}`, []string{`Only when dir is "/srv/a/b/", with no other arguments`}},
		{"a link", `{"link_target":"/etc","path":"/srv/a/x"}`, []string{`Only when link_target is "/etc" and path is "/srv/a/x", with no other arguments`}},
		{"a link by another word", `{"path":"/srv/a/x","symlink":true}`, []string{`Only when path is "/srv/a/x" and symlink is true, with no other arguments`}},
		{"a list of files is not narrowed to a directory", `{"paths":["/srv/a/x","/srv/a/y"]}`, []string{`Only when paths is ["/srv/a/x","/srv/a/y"], with no other arguments`}},

		{"nothing", `{}`, nil},
		{"nothing at all", ``, nil},
		{"no arguments", `null`, nil},
		{"keys in the model's order", `{"b":1,"a":2}`, []string{"Only when a is 2 and b is 1, with no other arguments"}},
		{"a space", `{"a": 2}`, []string{"Only when a is 2, with no other arguments"}},
		{"twice the same name", `{"a":1,"a":1}`, nil},
		{"names that differ in case", `{"Path":"/srv/a/y","path":"/srv/a/x"}`, nil},
		{"only free text", `{"content":"a\nb"}`, nil},
		{"a long command is no free text", `{"command":"` + long + `"}`, nil},
		{"nor is the text of one", `{"command_text":"` + long + `","n":1}`, nil},
		{"nor is a patch, which names files itself", `{"diff":"` + long + `","patch":"` + long + `","path":"/srv/a/x"}`, nil},
		{"a long value that would not fit", `{"query":"` + long + `","path":"/srv/a/x"}`, nil},
		{"more than a card shows", `{"content":"` + strings.Repeat("a", render.MaxArgs) + `","n":1}`, nil},
		{"hidden in a value", "{\"method\":\"GET\u200b\"}", nil},
		{"hidden in a name", "{\"meth\u200bod\":\"GET\"}", nil},
		{"hidden in a list", "{\"l\":[\"\u202e\"]}", nil},
		{"hidden in a name of what is left open", "{\"\u200bcontent\":\"a\\nb\",\"n\":1}", nil},
		{"hidden in a path", "{\"path\":\"/srv/a/\u200bx\"}", nil},
		{"a secret", `{"password":"hunter2","user":"ana"}`, nil},
		{"a secret inside", `{"l":[{"headers":{"Authorization":"x"}}],"url":"y"}`, nil},
		{"a secret key", `{"path":"/srv/a/x","privateKey":"x"}`, nil},
		{"more arguments than pins", `{"a":1,"b":1,"c":1,"d":1,"e":1,"f":1,"g":1,"h":1,"i":1,"j":1,"k":1,"l":1,"m":1,"n":1,"o":1,"p":1,"q":1,"r":1,"s":1,"t":1}`, nil},
	} {
		var got []string
		for _, p := range Propose("write_file", json.RawMessage(c.args)) {
			got = append(got, p.Label)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %s\ngot  %q\nwant %q", c.name, c.args, got, c.want)
		}
	}
}

// Every proposal covers the call it was made from, fits, and passes the check of grants; the first is the narrower one; neither lets in
// another argument, another value of what it names, or a path beside the directory.
// What "only below this directory" is about is what the call names: never what stands above a directory.
func TestBelowWhat(t *testing.T) {
	for _, c := range []struct{ tool, args, want string }{
		{"read_file", `{"path":"/srv/docs/a.txt"}`, "/srv/docs"},
		{"read_file", `{"path":"/srv/docs/README"}`, ""}, // who knows
		{"read_file", `{"file":"/srv/docs/README"}`, "/srv/docs"},
		{"move_file", `{"destination":"/srv/a/b.txt","source":"/srv/a/c.txt"}`, "/srv/a"},
		{"move_file", `{"destination":"/srv/a/b","source":"/srv/a/c"}`, ""}, // two directories: what they share is above both
		{"list_directory", `{"path":"/srv/docs"}`, "/srv/docs"},
		{"list_directory", `{"path":"/srv/docs.old"}`, "/srv/docs.old"},
		{"directory_tree", `{"path":"/srv/site.com"}`, "/srv/site.com"},
		{"search_files", `{"path":"/srv/my.site","pattern":"x"}`, "/srv/my.site"},
		{"git_commit", `{"message":"m","path":"/srv/acme.io"}`, "/srv/acme.io"},
		{"git_log", `{"maxCount":10,"repo_path":"/srv/acme.io"}`, "/srv/acme.io"},
		{"create_directory", `{"path":"/srv/v1.new"}`, "/srv/v1.new"},
		{"write_file", `{"cwd":"/srv/a.app","path":"/srv/a.app/b/c.txt"}`, "/srv/a.app"},
		{"write_file", `{"cwd":"/srv/a/b","path":"/srv/a/c.txt"}`, ""}, // what they share is above the directory
		{"write_file", `{"content":"x","path":"/srv/v1.2"}`, ""},
		{"write_file", `{"content":"x","root_path":"/srv/a.app"}`, "/srv/a.app"},
		{"run", `{"path":"/srv/x.sh/y.sh"}`, "/srv/x.sh/y.sh"}, // not a tool that is known to take files
		{"list_directory", `{"path":"/srv"}`, ""},
		{"list_directory", `{"path":"/srv/docs/"}`, ""}, // in two ways a path
		{"create_issue", `{"repo":"acme/app"}`, ""},
	} {
		dir := ""
		for _, p := range Propose(c.tool, json.RawMessage(c.args)) {
			if dir += p.Dir; p.Dir != "" && !Hold(p.Pins, json.RawMessage(c.args)) {
				t.Errorf("%s %s: its own call is not covered by %s", c.tool, c.args, p.Label)
			}
		}
		if dir != c.want {
			t.Errorf("%s %s: below %q, want %q", c.tool, c.args, dir, c.want)
		}
	}
}

// R154
func TestProposalsNarrow(t *testing.T) {
	one, two, met := 0, 0, 0
	defer func() {
		if one < 5 || two < 5 || met < 5 {
			t.Errorf("%d calls with one proposal, %d with two, %d changed calls covered: this says nothing", one, two, met)
		}
	}()
	rapid.Check(t, func(t *rapid.T) {
		args := drawArgs.Draw(t, "args")
		if rapid.Bool().Draw(t, "plain") {
			maps.DeleteFunc(args, func(k string, _ any) bool { return k == "Path" || k == "source" || k == "dest_path" })
			args["path"] = rapid.SampledFrom([]string{"/srv/a/x.md", "docs/x.md", "GET"}).Draw(t, "path")
		}
		raw := encoded(t, args)
		got := Propose("write_file", raw)
		switch len(got) {
		case 0:
			return
		case 1:
			one++
		case 2:
			two++
		default:
			t.Fatalf("%s: %d proposals", raw, len(got))
		}
		other := near(t, args)
		now := encoded(t, other)
		for _, p := range got {
			if !Hold(p.Pins, raw) || Check(p.Pins) != nil || utf8.RuneCountInString(p.Label) > 150 || len(p.Pins) < 2 {
				t.Fatalf("%s: %s %q", raw, p.Pins, p.Label)
			}
			if _, n := text.Visible(p.Label); n > 0 {
				t.Fatalf("%q has hidden characters", p.Label)
			}
			if !Hold(p.Pins, now) {
				continue
			}
			met++
			if last := got[len(got)-1]; !Hold(last.Pins, now) {
				t.Fatalf("%s is covered by the narrower %q and not by %q", now, p.Label, last.Label)
			}
			if why := beyond(t, p.Label, args, other); why != "" {
				t.Fatalf("%q covers %s, made from %s: %s", p.Label, now, raw, why)
			}
		}
	})
}

// near changes a call a little: some values, an argument more or one less.
func near(t *rapid.T, args map[string]any) map[string]any {
	other, change := maps.Clone(args), drawArgs.Draw(t, "change")
	for _, k := range slices.Sorted(maps.Keys(change)) {
		switch rapid.IntRange(0, 2).Draw(t, "how") {
		case 0:
			other[k] = change[k]
		case 1:
			delete(other, k)
		}
	}
	if _, ok := other["content"]; ok {
		other["content"] = "something else"
	}
	return other
}

// beyond says what of a changed call a label does not allow, reading nothing but the label.
func beyond(t *rapid.T, label string, was, is map[string]any) string {
	_, rest, under := strings.Cut(label, "under ")
	quoted, _, _ := strings.Cut(rest, ` `)
	var dir string
	if under && json.Unmarshal([]byte(strings.TrimSuffix(quoted, ",")), &dir) != nil {
		t.Fatalf("%q: %s", label, quoted)
	}
	dir = strings.TrimSuffix(strings.TrimSuffix(dir, "**"), dir[max(0, len(dir)-3):max(0, len(dir)-2)])
	if len(was) != len(is) {
		return "the number of arguments"
	}
	for k, v := range is {
		before, ok := was[k]
		text, _ := v.(string)
		isPath := k == "path" || k == "Path" || k == "dest_path" || k == "source"
		switch {
		case !ok:
			return k + " is new"
		case reflect.DeepEqual(v, before), k == "content" && strings.Contains(label, "any content"), under && isPath && text != "" && escapes(dir, text) == "":
		default:
			return k
		}
	}
	return ""
}

// The only arguments that a proposal leaves open are free text, so that a grant cannot itself make the link that leads outside its
// directory (R154): what could be a link's target is pinned to a directory or as it is.
// R154
func TestProposalsLeaveOnlyTextOpen(t *testing.T) {
	for _, name := range strings.Fields("target link_to linkTarget to from url uri href command cmd query sql script code expression shell exec patch diff edits data input value args option files key id user content_type path_text url_body sqlText scriptBody promptMessage description_url host destination linkpath") {
		for _, value := range []string{"/etc", "x", "/srv/a/y"} {
			args := encoded(t, map[string]any{"path": "/srv/a/x", name: value})
			for _, p := range Propose("write_file", args) {
				for _, other := range []any{"/etc/cron.d", "/srv/b/z", "y\nz", strings.Repeat("y", 300), 7, nil} {
					if now := encoded(t, map[string]any{"path": "/srv/a/x", name: other}); Hold(p.Pins, now) {
						t.Errorf("%q covers %s", p.Label, now)
					}
				}
			}
		}
		for _, v := range []any{strings.Repeat("y", 300), "y\nz"} { // long or in lines, and yet not free text
			for _, p := range Propose("write_file", encoded(t, map[string]any{"n": 1, name: v})) {
				if Hold(p.Pins, encoded(t, map[string]any{"n": 1, name: "z"})) {
					t.Errorf("%q leaves %s open", p.Label, name)
				}
			}
		}
	}
}

// What a card masks by its name is never in a label.
func TestNoSecretIsProposed(t *testing.T) {
	n := 0
	for _, name := range strings.Fields("password Password db_password passwd pwd passphrase secret client_secret clientSecret token accessToken access_token authorization Authorization cookie cookies set_cookie credential credentials apiKey api_key API_KEY X-API-Key apikey privateKey private_key secretKey access_key accesskey authtoken auth_key signingKey") {
		for _, args := range []map[string]any{{name: "hunter2"}, {name: "hunter2", "path": "/srv/a/x"}, {"o": map[string]any{name: "hunter2"}, "path": "/srv/a/x"}, {"l": []any{map[string]any{name: "hunter2"}}, "path": "/srv/a/x"}} {
			raw := encoded(t, args)
			if render.ArgsOf(raw, "").Redacted > 0 {
				n++
			}
			if got := Propose("write_file", raw); got != nil {
				t.Errorf("%s: %v", raw, got)
			}
			for _, p := range []Pin{{Path: "o", Value: raw}, exactly("/"+name, `"hunter2"`), exactly("a."+name, `"hunter2"`)} {
				if label := Label([]Pin{p}); strings.Contains(label, "hunter2") || !strings.Contains(label, saySecret) {
					t.Errorf("%s: %s", p, label)
				}
			}
		}
	}
	if n < 100 {
		t.Errorf("core/render masks only %d of these: the names are not what it knows", n)
	}
}

// The ending of a file: letters and digits, one letter at least, two to eight of them, after a name.
func TestNamesOfFiles(t *testing.T) {
	for name, want := range map[string]bool{
		"a.txt": true, "song.mp3": true, "a.tar.gz": true, "x.7z": true, "a.abcdefgh": true,
		"README": false, ".git": false, "v1.2": false, "a.c": false, "a.": false, "a.abcdefghi": false, "a.2024": false, "a.b-c": false, "a.b c": false,
	} {
		if got := fileName(name); got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
	for tool, want := range map[string]bool{"read_file": true, "write_file": true, "find_files": false, "grep_open": false, "directory_read": false, "run": false} {
		if got := worksOnFiles(tool); got != want {
			t.Errorf("%s: %v", tool, got)
		}
	}
}
