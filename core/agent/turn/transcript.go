package turn

import "slices"

// Transcript gives the whole talk as the fold keeps it: what was said in turns that are over, and in the open one. A model reads it in
// the words of package talk.
func Transcript(s Session) []Utterance {
	if s.Turn == nil {
		return s.Transcript
	}
	return add(s.Transcript, s.Turn.utterances()...)
}

// utterances are what was said in the turn. A call that is not settled has a pending result, so that a request can never hold a call
// without one.
func (t *Turn) utterances() []Utterance {
	var talk []Utterance
	for i := range t.Notes {
		talk = append(talk, Utterance{Role: RoleNote, Note: &t.Notes[i]})
	}
	files := t.Files
	for i, m := range t.Said {
		own := files[:min(len(m.Files), len(files))]
		files = files[len(own):]
		if i > 0 && m.Replay == nil && len(m.Context) == 0 {
			u := &talk[len(talk)-1]
			u.Text += "\n\n" + m.Text
			u.Files = add(u.Files, own...)
			continue
		}
		u := Utterance{Role: RoleUser, By: m.By, Name: m.Name, Text: m.Text, Context: m.Context, Files: slices.Clip(own)}
		if m.Replay != nil && m.Text == "" {
			u.Again = &m.Replay.Tool
		}
		talk = append(talk, u)
	}
	for step, r := range t.Replies {
		u := Utterance{Role: RoleAssistant, Text: r.Text, Cut: r.Cut, Extra: r.Extra}
		for _, c := range t.Calls {
			if c.Step == step {
				u.Calls = append(u.Calls, c.talk())
			}
		}
		if u.Text != "" || u.Cut || len(u.Calls) > 0 {
			talk = append(talk, u)
		}
	}
	return talk
}

// talk is the call with its result. What the model wrote stays what it wrote; that other arguments ran stands beside it.
func (c ToolCall) talk() TalkCall {
	tc := TalkCall{ID: c.ID, ModelID: c.ModelID, Server: c.Tool.Server, Name: c.Tool.Name, Args: c.Args, Extra: c.Extra, Result: Result{Kind: ResultPending, IsError: true}}
	if c.Result != nil {
		tc.Result = *c.Result
	}
	if c.Edited() {
		tc.Args = c.Wrote
		tc.Edit = &Edit{Name: c.Edits[len(c.Edits)-1].Name, Args: c.Args}
	}
	return tc
}

// trim drops the oldest utterances over the bounds; [Session.Dropped] counts them.
func (s Session) trim() Session {
	n, size := 0, 0
	for _, u := range slices.Backward(s.Transcript) {
		if size += u.Size(); size > maxTalkBytes && n > 0 {
			break
		}
		n++
	}
	if n = min(n, maxTranscript); n < len(s.Transcript) {
		s.Dropped += len(s.Transcript) - n
		s.Transcript = last(s.Transcript, n)
	}
	return s
}
