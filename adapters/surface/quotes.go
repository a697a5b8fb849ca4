package surface

import (
	"fmt"

	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/text"
)

// What is imported of a conversation in which the bot is called for the first time.
const (
	MaxQuotes = 50
	MaxQuoted = 16 << 10 // bytes of text over all quotes
)

// FitQuotes keeps the first quote and the newest ones that there is room for, and says where how many are left out. left is how many
// were left out before, between the first and the others; negative: nobody knows how many.
func FitQuotes(all []chat.Quote, left int) []chat.Quote {
	if len(all) == 0 {
		return nil
	}
	first, rest := all[0], all[1:]
	if len(rest) > 0 {
		first.Text = CutText(first.Text, MaxQuoted/2)
	} else {
		first.Text = CutText(first.Text, MaxQuoted)
	}
	room := MaxQuoted - len(first.Text)
	from := len(rest)
	for ; from > 0; from-- {
		q := &rest[from-1]
		if from == len(rest) { // the newest is there in any case
			q.Text = CutText(q.Text, room)
		}
		if len(q.Text) > room {
			break
		}
		room -= len(q.Text)
	}
	out := []chat.Quote{first}
	switch {
	case left < 0:
		out = append(out, chat.Quote{Name: text.Product, Text: "[messages of this thread are left out here]"})
	case left+from > 0:
		out = append(out, chat.Quote{Name: text.Product, Text: fmt.Sprintf("[%d messages of this thread are left out here]", left+from)})
	}
	return append(out, rest[from:]...)
}

// CutText is s, or what of it fits into n bytes and how much more there is.
func CutText(s string, n int) string {
	if len(s) <= n {
		return s
	}
	const words = 48 // room to say so
	head := text.HeadBytes(s, max(n-words, 0))
	return fmt.Sprintf("%s [… %d more bytes left out]", head, len(s)-len(head))
}
