package stand

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// Sheet draws a page of a stand-in as a picture: its messages side by side, each as wide as a phone, and nothing else. It needs chromium.
func Sheet(page, messages, hide, picture string, width, height int) error {
	style := fmt.Sprintf("<style>body,main,aside{display:block!important;height:auto!important;overflow:visible!important;border:0}%s{display:none!important}"+
		"%s{display:flex!important;flex-flow:column wrap;gap:18px;height:%dpx!important;align-content:flex-start;overflow:visible!important}%[2]s>*{width:390px;flex:none;margin:0}</style>", hide, messages, height-20)
	dir, err := os.MkdirTemp("", "sheet")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "sheet.html")
	before, _, _ := strings.Cut(page, "<script>") // a page that asks for itself anew has no end
	if err := os.WriteFile(file, []byte(before+style), 0o600); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	out, err := exec.CommandContext(ctx, "chromium", "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", fmt.Sprintf("--window-size=%d,%d", width, height),
		"--screenshot="+picture, "file://"+file).CombinedOutput()
	if err != nil {
		return fmt.Errorf("chromium: %w\n%s", err, out)
	}
	return nil
}

// Field is one member of a JSON object, as it is written.
func Field(object []byte, name string) (string, error) {
	var all map[string]json.RawMessage
	if err := json.Unmarshal(object, &all); err != nil {
		return "", err
	}
	return string(all[name]), nil
}
