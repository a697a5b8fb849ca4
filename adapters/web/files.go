package web

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"time"

	"github.com/nodhq/nod/adapters/web/session"
	"github.com/nodhq/nod/core/agent/attach"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/text"
)

// What people attach is uploaded first, a request for each file, and kept beside the chat's log under the digest of its bytes; the message
// names the digests.

// Uploads at once: each stands whole in memory, and a slow one holds its place.
const (
	uploadsAtOnce = 4 // of one process
	uploadsEach   = 2 // of one person, so that nobody holds all places
)

// uploader is somebody who uploads.
type uploader struct {
	taken  chan struct{} // their places
	wanted int           // uploads that have one or wait for one, under Server.mu
}

// place waits for a place to upload, which leave gives back.
func (s *Server) place(ctx context.Context, user string) (leave func(), err error) {
	s.mu.Lock()
	mine := s.uploading[user]
	if mine == nil {
		mine = &uploader{taken: make(chan struct{}, uploadsEach)}
		s.uploading[user] = mine
	}
	mine.wanted++
	s.mu.Unlock()
	var took []chan struct{}
	leave = func() {
		for _, c := range took {
			<-c
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if mine.wanted--; mine.wanted == 0 {
			delete(s.uploading, user)
		}
	}
	for _, c := range []chan struct{}{mine.taken, s.uploads} {
		select {
		case c <- struct{}{}:
			took = append(took, c)
		case <-ctx.Done():
			leave()
			return nil, ctx.Err()
		}
	}
	return leave, nil
}

var (
	_ attach.Fetcher = (*Server)(nil)
	_ attach.Gallery = (*Server)(nil)
)

// fileForm is a file that was uploaded, as the answer to it and as a message names it.
type fileForm struct {
	File string `json:"file"`
	Name string `json:"name"`
	Size int    `json:"size"`
}

// pictureForm is a picture that a tool returned.
type pictureForm struct {
	File string `json:"file"`
	Type string `json:"type"`
	Size int    `json:"size"`
}

// pictureEnds are the kinds of pictures that are given out, with how a file of that kind ends. None of them can hold a script.
var pictureEnds = map[string]string{"image/png": ".png", "image/jpeg": ".jpg", "image/gif": ".gif", "image/webp": ".webp"}

// ShowsPictures implements [attach.Gallery].
func (*Server) ShowsPictures() {}

// getFile gives a picture of the chat, which somebody attached or a tool returned. It judges by the bytes, and no other file is given out:
// a stranger wrote it, and it would stand under our name.
func (s *Server) getFile(w http.ResponseWriter, r *http.Request, p session.Person) error {
	v, err := s.chat(r, p)
	if err != nil {
		return err
	}
	key := r.PathValue("file")
	var data []byte
	if s.Files != nil {
		if data, err = s.Files.Blob(r.Context(), v.session.Chat, key); err != nil {
			return err
		}
	}
	kind := http.DetectContentType(data)
	end := pictureEnds[kind]
	if end == "" {
		return problem{Status: http.StatusNotFound, Code: "no_picture", Message: "There is no such picture here, or it is kept no longer."}
	}
	h := w.Header()
	h.Set("Content-Type", kind)
	h.Set("Content-Disposition", `inline; filename="picture`+end+`"`)
	h.Set("Cache-Control", "private, no-cache") // whoever signed out does not find it
	h.Set("ETag", `"`+key+`"`)
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(data))
	return nil
}

var tooBig = problem{Status: http.StatusRequestEntityTooLarge, Code: "too_large", Message: "A file may have up to " + text.Size(attach.MaxFileBytes) + "."}

// postFile takes one file: the body is its bytes, and the query its name.
func (s *Server) postFile(r *http.Request, p session.Person, v view) (any, error) {
	if s.Files == nil {
		return nil, problem{Status: http.StatusNotFound, Code: "no_files", Message: "This bot takes no files here."}
	}
	leave, err := s.place(r.Context(), p.User.String())
	if err != nil {
		return nil, err
	}
	defer leave()
	data, err := io.ReadAll(io.LimitReader(r.Body, attach.MaxFileBytes+1))
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, tooSlow
	case err != nil:
		return nil, badRequest("The file broke off before its end.")
	case len(data) > attach.MaxFileBytes:
		_, _ = io.CopyN(io.Discard, r.Body, maxDrain)
		return nil, tooBig
	case len(data) == 0:
		return nil, badRequest("There is nothing in this file.")
	}
	key, err := s.Files.PutBlob(r.Context(), v.session.Chat, data)
	if err != nil {
		return nil, err
	}
	return withStatus{http.StatusCreated, fileForm{key, text.ShortName(r.URL.Query().Get("name")), len(data)}}, nil
}

// attached are the files that a message names, and its text with a line for each.
func attached(said string, files []fileForm) (string, []chat.File, error) {
	if len(files) > attach.MaxFiles {
		return "", nil, badRequest("A message may have up to " + text.Count(attach.MaxFiles, "file") + ".")
	}
	var all []chat.File
	for _, f := range files {
		if f.File == "" || len(f.File) > 128 || len(f.Name) > 1024 {
			return "", nil, badRequest("\"files\" are answers of POST …/files.")
		}
		all = append(all, chat.File{Name: f.Name, Size: max(0, min(f.Size, attach.MaxFileBytes)), Handle: f.File})
	}
	said, all = text.Attach(said, all)
	return said, all, nil
}

// Fetch implements [attach.Fetcher]: it asks no network.
func (s *Server) Fetch(ctx context.Context, id chat.ID, f chat.File, most int) ([]byte, error) {
	if s.Files == nil {
		return nil, &attach.Error{Why: turn.UnreadGone}
	}
	data, err := s.Files.Blob(ctx, id, f.Handle)
	switch {
	case err != nil:
		return nil, err
	case data == nil:
		return nil, &attach.Error{Why: turn.UnreadGone, Cause: errors.New("it is kept no longer")}
	case len(data) > most:
		return nil, &attach.Error{Why: turn.UnreadTooBig}
	}
	return data, nil
}
