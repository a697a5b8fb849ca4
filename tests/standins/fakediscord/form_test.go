package fakediscord_test

import (
	"bytes"
	"fmt"
	"io"
	"mime/multipart"
	"testing"
)

// form is a body with files.
type form struct {
	payload any
	files   map[int]file
}

type file struct{ name, data string }

func (f form) encode(t *testing.T) (io.Reader, string) {
	t.Helper()
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	p, err := w.CreateFormField("payload_json")
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.WriteString(p, asJSON(f.payload))
	for n, file := range f.files {
		p, err := w.CreateFormFile(fmt.Sprintf("files[%d]", n), file.name)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(p, file.data)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return &b, w.FormDataContentType()
}
