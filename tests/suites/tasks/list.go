package tasks

import "fmt"

var (
	docs    = []string{"docs/install.md", "docs/usage.md", "docs/faq.md", "docs/api.md", "docs/history.md"}
	months  = []string{"01", "02", "03", "04", "05", "06"}
	drafts  = []string{"a.tmp", "b.tmp", "c.tmp", "old.log"}
	todos   = []string{"src/cart.go", "src/pay.go", "src/ship.go", "src/mail.go"}
	stale   = []string{"11", "14", "19"}
	service = []string{"main.go", "go.mod", "README.md", "Dockerfile"}
)

// All are the twenty tasks of the measurement.
var All = []Task{
	{"Summarise five files", [][]Call{one(list("docs")), each(docs, readFile)}},
	{"Rename all reports of 2025", [][]Call{one(search("**/report-2025-*")), each(months, func(m string) Call {
		return move("reports/report-2025-"+m+".md", "reports/2025-"+m+"-report.md")
	})}},
	{"Ticket from a bug", [][]Call{
		one(github("search_issues", args{"query": "checkout fails when the cart is empty"}, true)),
		one(github("issue_write", args{"method": "create", "title": "Checkout fails with an empty cart", "body": "Steps:\n1. Empty the cart\n2. Press Pay\n\nIt answers 500."}, false))}},
	{"Clean up temp", [][]Call{one(list("temp")), each(drafts, func(f string) Call { return move("temp/"+f, "trash/"+f) })}},
	{"Changelog and commit", [][]Call{
		{git("log", args{"maxCount": 10}, true), readFile("CHANGELOG.md")},
		one(git("diff", args{"target": "HEAD~1"}, true)),
		one(edit("CHANGELOG.md", "## Unreleased\n", "## Unreleased\n\n- Carts may be empty\n", false)),
		one(git("add", args{"paths": []string{"CHANGELOG.md"}}, false)),
		one(git("commit", args{"message": "Changelog: carts may be empty"}, false))}},
	{"Find an owner and message them", [][]Call{
		one(search("**/CODEOWNERS")), one(readFile(".github/CODEOWNERS")), one(reads("slack", "slack_get_users", args{"limit": 100})),
		one(post("U0ANA", "You own src/pay.go: could you look at issue 11?"))}},
	{"What changed last week", [][]Call{
		one(git("log", args{"since": "2026-11-14", "maxCount": 20}, true)),
		{git("show", args{"object": "HEAD"}, true), git("show", args{"object": "HEAD~1"}, true)}}},
	{"Remember who is on call", [][]Call{
		one(reads("memory", "search_nodes", args{"query": "shipping rota"})),
		one(writes("memory", "create_entities", args{"entities": []any{args{"name": "shipping rota", "entityType": "rota", "observations": []string{"Ben is on call until Friday"}}}}))}},
	{"Who is on call", [][]Call{
		one(reads("memory", "search_nodes", args{"query": "payments rota"})), one(reads("memory", "open_nodes", args{"names": []string{"payments rota"}}))}},
	{"Plan with a thinking tool", [][]Call{
		one(think(1, "The goal is to move checkout to the new database.")), one(think(2, "Writes to both come first, so that one can go back.")),
		one(think(3, "Then old rows are copied in the background.")), one(think(4, "Reads move last, behind a flag.")), one(think(5, "The old database goes two weeks later."))}},
	{"Fix a typo", [][]Call{one(readFile("README.md")), one(edit("README.md", "recieve", "receive", true)), one(edit("README.md", "recieve", "receive", false))}},
	{"Scaffold a service", [][]Call{each([]string{"mail", "mail/cmd", "mail/deploy"}, makeDir), each(service, func(f string) Call {
		return writeFile("mail/"+f, fmt.Sprintf("mail: %s\n\nfor the new service\n", f))
	})}},
	{"Compare two configs", [][]Call{one(reads("files", "read_multiple_files", args{"paths": []string{"{dir}/staging.yaml", "{dir}/production.yaml"}}))}},
	{"Close stale issues", [][]Call{one(github("list_issues", args{"state": "OPEN", "since": "2025-01-01T00:00:00Z"}, true)), each(stale, func(n string) Call {
		return github("issue_write", args{"method": "update", "issue_number": number(n), "state": "closed", "state_reason": "not_planned"}, false)
	})}},
	{"Weekly summary to a channel", [][]Call{
		{github("list_pull_requests", args{"state": "closed"}, true), github("list_issues", args{"state": "CLOSED"}, true)},
		one(reads("slack", "slack_list_channels", args{"limit": 100})), one(post("C0TEAM", "This week: 2 pull requests merged, 3 issues closed."))}},
	{"Review a pull request", [][]Call{one(pull("get")), {pull("get_files"), pull("get_diff"), pull("get_check_runs")},
		one(github("pull_request_review_write", args{"method": "create", "pullNumber": 42, "event": "COMMENT", "body": "Two questions:\n- why the second lock?\n- is there a test?"}, false))}},
	{"What fills the data folder", [][]Call{each([]string{"data", "data/logs"}, func(d string) Call {
		return reads("files", "list_directory_with_sizes", args{"path": "{dir}/" + d, "sortBy": "size"})
	})}},
	{"Find the TODOs", [][]Call{one(search("**/*.go")), each(todos, readFile)}},
	{"Branch fix commit push", [][]Call{
		one(git("status", args{}, true)), one(git("checkout", args{"target": "fix-empty-cart", "createBranch": true}, false)),
		one(edit("src/cart.go", "panic(\"empty\")", "return nil", false)), one(git("add", args{"paths": []string{"src/cart.go"}}, false)),
		one(git("commit", args{"message": "An empty cart is no error"}, false)), one(git("push", args{"remote": "origin", "branch": "fix-empty-cart"}, false)),
		one(github("create_pull_request", args{"title": "An empty cart is no error", "head": "fix-empty-cart", "base": "main", "body": "Closes 11."}, false))}},
	{"CSV to JSON", [][]Call{one(readFile("people.csv")), one(writeFile("people.json", "[\n  {\"name\": \"Ana\", \"team\": \"payments\"},\n  {\"name\": \"Ben\", \"team\": \"shipping\"}\n]\n"))}},
}

func pull(method string) Call {
	return github("pull_request_read", args{"method": method, "pullNumber": 42}, true)
}

func number(s string) (n int) {
	for _, d := range s {
		n = n*10 + int(d-'0')
	}
	return n
}
