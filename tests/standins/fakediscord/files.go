package fakediscord

import (
	"net/http"
	"strconv"
)

// store keeps the files of a version that were uploaded with it. s.mu is held.
func (s *Server) store(c *channel, v Version, uploads []Attachment, files map[string]upload) {
	fresh := v.Attachments[len(v.Attachments)-len(uploads):]
	for i, a := range uploads {
		s.files["/attachments/"+c.ID+"/"+fresh[i].ID+"/"+a.Name] = files["files["+a.ID+"]"].data
	}
}

// serveFile is the content delivery: it takes no token.
func (s *Server) serveFile(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	data, ok := s.files[r.URL.Path]
	s.mu.Unlock()
	if !ok {
		http.Error(w, "This content is no longer available.", http.StatusNotFound)
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
