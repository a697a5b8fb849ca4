package fakediscord

import (
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// store keeps the files of a version that were uploaded with it. s.mu is held.
func (s *Server) store(c *channel, v Version, uploads []Attachment, files map[string]upload) {
	fresh := v.Attachments[len(v.Attachments)-len(uploads):]
	for i, a := range uploads {
		s.files["/attachments/"+c.ID+"/"+fresh[i].ID+"/"+a.Name] = files["files["+a.ID+"]"].data
	}
}

// signedFor is how long an address of a file is good for.
const signedFor = 24 * time.Hour

// signedURL is an address with its end in it. https://discord.com/developers/docs/reference#signed-attachment-cdn-urls
func (s *Server) signedURL(address string) string {
	if address == "" {
		return ""
	}
	now := s.clock.Now()
	return address + fmt.Sprintf("?ex=%x&is=%x&hm=%064x&", now.Add(signedFor).Unix(), now.Unix(), now.Unix())
}

// serveFile is the content delivery: it takes no token, and looks at the address's end alone.
func (s *Server) serveFile(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Authorization") != "" {
		panic("fakediscord: the bot's token was sent to the content delivery")
	}
	s.mu.Lock()
	data, ok := s.files[r.URL.Path]
	answer := s.answers[r.URL.Path]
	s.mu.Unlock()
	ends, err := strconv.ParseInt(r.URL.Query().Get("ex"), 16, 64)
	ok = (ok || answer != nil) && err == nil && s.clock.Now().Unix() < ends
	if !ok {
		http.Error(w, "This content is no longer available.", http.StatusNotFound)
		return
	}
	if answer != nil {
		answer(w, r)
		return
	}
	w.Header().Set("Content-Length", strconv.Itoa(len(data)))
	_, _ = w.Write(data)
}

// File is the content of an attachment.
func (s *Server) File(channel string, a Attachment) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.files["/attachments/"+channel+"/"+a.ID+"/"+a.Name]
}
