package parts

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nodhq/nod/cmd/bot/config"
	"github.com/nodhq/nod/core/permission/canonical"
)

// signer is whoever keeps a list.
var signer = ed25519.NewKeyFromSeed(slices.Repeat([]byte{7}, ed25519.SeedSize))

// signed is a list with its signature, in a form that is not the canonical one.
func signed(t *testing.T, k ed25519.PrivateKey, list string) string {
	t.Helper()
	sorted, err := canonical.Arguments([]byte(list))
	if err != nil {
		t.Fatal(err)
	}
	var parts map[string]any
	if err := json.Unmarshal([]byte(list), &parts); err != nil {
		t.Fatal(err)
	}
	parts["signature"] = base64.StdEncoding.EncodeToString(ed25519.Sign(k, sorted))
	b, err := json.MarshalIndent(parts, "", "\t")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

const goodList = `{"version":1,"source":"the <club> & friends","servers":{"tools":{"score":87,"note":"used by many\u202e"},"workbench":{"score":0}}}`

// R157
func TestReputationIsReadStrictly(t *testing.T) {
	key := signer.Public().(ed25519.PublicKey) //nolint:forcetypeassert // it is one
	list, err := parseReputation([]byte(signed(t, signer, goodList)), key)
	if err != nil || *list.Servers["tools"].Score != 87 || list.Source != "the <club> & friends" || *list.Servers["workbench"].Score != 0 {
		t.Fatalf("%+v, %v", list, err)
	}
	stranger := ed25519.NewKeyFromSeed(slices.Repeat([]byte{8}, ed25519.SeedSize))
	good := signed(t, signer, goodList)
	for name, tt := range map[string]struct{ text, says string }{
		"changed":           {strings.Replace(good, "87", "88", 1), "its signature is not that of reputation.public_key"},
		"renamed":           {strings.Replace(good, `"tools"`, `"files"`, 1), "its signature is not"},
		"added":             {strings.Replace(good, `"version"`, `"more": 1, "version"`, 1), "its signature is not"},
		"of somebody else":  {signed(t, stranger, goodList), "its signature is not"},
		"no signature":      {goodList, "it has no signature"},
		"empty signature":   {strings.Replace(goodList, `{`, `{"signature":"",`, 1), "it has no signature"},
		"number":            {strings.Replace(goodList, `{`, `{"signature":1,`, 1), "it has no signature"},
		"more behind it":    {strings.Replace(good, `=="`, `==*"`, 1), "its signature is not"},
		"not base64":        {strings.Replace(goodList, `{`, `{"signature":"***",`, 1), "its signature is not"},
		"said twice":        {strings.Replace(good, `"version"`, `"version": 1, "version"`, 1), "every key stands once"},
		"no JSON":           {"score: 87", "every key stands once"},
		"empty":             {"", "it has no signature"},
		"another version":   {signed(t, signer, `{"version":2,"source":"s","servers":{}}`), "version: 2 is not known here; this program reads 1"},
		"no source":         {signed(t, signer, `{"version":1,"servers":{}}`), "source: it does not say whose word it is"},
		"no score":          {signed(t, signer, `{"version":1,"source":"s","servers":{"a":{"note":"x"}}}`), "servers.a.score: want a number from 0 to 100"},
		"more than all":     {signed(t, signer, `{"version":1,"source":"s","servers":{"a":{"score":101}}}`), "servers.a.score: want"},
		"less than nothing": {signed(t, signer, `{"version":1,"source":"s","servers":{"a":{"score":-1}}}`), "servers.a.score: want"},
		"unknown field":     {signed(t, signer, `{"version":1,"source":"s","servers":{"a":{"score":1,"trusted":true}}}`), "it is not a list of reputations"},
	} {
		if list, err := parseReputation([]byte(tt.text), key); err == nil || !strings.Contains(err.Error(), tt.says) || len(list.Servers) > 0 && list.check() == nil {
			t.Errorf("%s: %v, %v", name, list, err)
		}
	}
}

// What is wrong with the file is said with its name; a server that the list does not name has no score.
func TestReputations(t *testing.T) {
	dir := t.TempDir()
	good, unsigned := filepath.Join(dir, "good"), filepath.Join(dir, "unsigned")
	for path, text := range map[string]string{good: signed(t, signer, goodList), unsigned: goodList} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	key := base64.StdEncoding.EncodeToString(signer.Public().(ed25519.PublicKey)) //nolint:forcetypeassert // it is one
	for path, want := range map[string]string{
		good: "", unsigned: "reputation.file " + unsigned + ": it has no signature", dir: "reputation.file: read " + dir, dir + "/none": "reputation.file: open " + dir,
	} {
		list, err := Reputations(config.Config{Reputation: config.Reputation{File: path, PublicKey: key}})
		if (err == nil) != (want == "") || err != nil && !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v", path, err)
		}
		if err != nil {
			continue
		}
		if r, ok := list.Reputation("workbench"); !ok || r.Score != "0 of 100" {
			t.Errorf("%+v", r)
		}
		if r, ok := list.Reputation("another"); ok {
			t.Errorf("a score that nobody gave: %+v", r)
		}
	}
	if list, err := Reputations(config.Config{}); list != nil || err != nil {
		t.Errorf("without a file: %v, %v", list, err)
	}
}
