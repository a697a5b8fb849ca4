package permission

// named is one entry of the documents' table of tool names. The zero entry says nothing.
type named struct {
	access   Access
	risk     Risk
	approval Approval
	levels   bool // risk and approval count, too
}

func entry(a Access, r Risk, ap Approval) named { return named{a, r, ap, true} }

// namedTable holds the names that the documents give (R24, R30–R32, R36–R37, C7). It lowers caution only for the
// workbench, whose tools are ours; a stranger's read_file is not ours, so for any other server it may only raise.
var namedTable = map[string]named{
	// R24, R30: run unasked. web_search reaches out, and the documents name it Auto all the same (C7).
	"web_search": entry(Read, Safe, AutoApprove),
	"calculator": entry(Read, Safe, AutoApprove),
	"datetime":   entry(Read, Safe, AutoApprove),
	"read_file":  entry(Read, Safe, AutoApprove),
	"file_read":  entry(Read, Safe, AutoApprove), // inside its sandbox; outside it the tool itself refuses

	// R36: read, which does not mean unasked (C5).
	"list_directory":  {access: Read},
	"get_information": {access: Read},

	// R24, R31, R37, R46: confirmed.
	"write_file":       entry(Write, Moderate, RequireConfirmation),
	"file_write":       entry(Write, Moderate, RequireConfirmation),
	"create_directory": entry(Write, Moderate, RequireConfirmation),
	"gmail_send":       entry(Write, Moderate, RequireConfirmation),
	"phone_call":       entry(Write, Moderate, RequireConfirmation),
	"delete_file":      entry(Write, Dangerous, RequireConfirmation),
	"run_command":      entry(Write, Dangerous, RequireConfirmation),
	"execute_command":  entry(Write, Dangerous, RequireConfirmation),
	"code_execute":     entry(Write, Dangerous, RequireConfirmation),

	// R32: an admin.
	"github_create_or_update_file": entry(Write, Moderate, RequireAuth),
	"github_create_pr":             entry(Write, Moderate, RequireAuth),
	"system_shutdown":              entry(Write, Dangerous, RequireAuth),
}

// lookupName finds a tool's entry. The documents spell names flat ("github_create_pr"), so for an MCP server its own name joined to the
// tool's counts as well: the entry can only raise caution there, so a chance match does no harm.
func lookupName(t Tool, s Source) named {
	if n, ok := namedTable[t.Name]; ok || s == SourceWorkbench {
		return n
	}
	return namedTable[t.Server+"_"+t.Name]
}
