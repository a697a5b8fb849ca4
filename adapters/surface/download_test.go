package surface

import (
	"net/http"
	"strings"
	"testing"
)

// Nobody is there: the error holds no address, which may let anybody in.
func TestADownloadThatFailsTellsNoAddress(t *testing.T) {
	const secret = "s3cret"
	data, _, err := Download(t.Context(), HTTPClient(&http.Client{Transport: &http.Transport{}}), "http://127.0.0.1:1/"+secret, "Bearer "+secret, Hosts{Standin: "http://127.0.0.1:1/"}, 9)
	if data != nil || err == nil || strings.Contains(err.Error(), secret) {
		t.Errorf("%q, %v", data, err)
	}
}
