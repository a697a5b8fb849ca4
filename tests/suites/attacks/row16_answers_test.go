package attacks

import (
	"fmt"
	"io"
	"net/http"
	"testing"

	"github.com/nodhq/nod/core/text"
)

// statuses are answers that prove nothing: the server has done the work.
var statuses = map[string]func(http.ResponseWriter, *http.Request){
	"400": status(400, ""), "404": status(404, "<h1>Not Found</h1>"), "409": status(409, ""), "422": status(422, ""), "429": status(429, ""), "500": status(500, ""), "503": status(503, ""),
	"404-as-of-a-session": status(404, `{"jsonrpc":"2.0","error":{"code":-32001,"message":"Session not found"},"id":null}`),
	"400-as-of-a-session": status(400, `{"jsonrpc":"2.0","error":{"code":-32000,"message":"Bad Request: No valid session ID provided"},"id":null}`),
	"403-of-a-filter":     status(403, "blocked"),
	"307-to-itself":       redirect(307), "308-to-itself": redirect(308),
	"a-cut-connection": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
}

func status(code int, body string) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "0")
		w.WriteHeader(code)
		_, _ = io.WriteString(w, body)
	}
}

func redirect(code int) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/again", code) }
}

func statusTools() (out []tool) {
	for name, answer := range statuses {
		out = append(out, tool{server: "gate", name: "s" + name, description: "Writes.", answer: answer})
	}
	return out
}

// answersAfterwards is the rest of row 16: a server that does the work and then answers as if it had not is called once for one yes, and
// nobody says that it was not run.
func answersAfterwards() (out []attack) {
	for name := range statuses {
		of := somewhere
		if name == "400" || name == "307-to-itself" {
			of = everywhere
		}
		out = append(out, of(16, "answers-"+name, func(t *testing.T, w *world, surface string) {
			k := begin(t, w, surface, wants(call("gate", "s"+name, fmt.Sprintf(`{"path":%q}`, idOf(t)))))
			k.click(ana, k.asking(1), "Allow once")
			s := k.until("nobody knows", func(s shot) bool { return len(s.labelled(text.LabelLeave)) == 1 })
			if !has([]string{s.text}, text.OutcomeNoAnswer) || has([]string{s.text}, text.NotRun) {
				t.Errorf("the card says %s", s.text)
			}
			k.click(ana, s, text.LabelLeave)
			k.over(1)
			k.times(1)
		})...)
	}
	return out
}
