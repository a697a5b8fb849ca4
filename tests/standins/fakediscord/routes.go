package fakediscord

import (
	"net/http"
)

// Methods of the REST API, as [Call.Method] has them and [Server.Fail] takes them. https://docs.discord.com/developers/reference
const (
	GetGateway         = "GET /gateway"
	GetGatewayBot      = "GET /gateway/bot"
	GetSelf            = "GET /users/@me"
	GetSelfGuilds      = "GET /users/@me/guilds"
	GetUser            = "GET /users/{user}"
	GetApplication     = "GET /applications/@me"
	EditApplication    = "PATCH /applications/@me"
	GetGuild           = "GET /guilds/{guild}"
	GetMember          = "GET /guilds/{guild}/members/{user}"
	GetRoles           = "GET /guilds/{guild}/roles"
	GetChannels        = "GET /guilds/{guild}/channels"
	GetActiveThreads   = "GET /guilds/{guild}/threads/active"
	CreateDM           = "POST /users/@me/channels"
	GetChannel         = "GET /channels/{channel}"
	EditChannel        = "PATCH /channels/{channel}"
	DeleteChannelCall  = "DELETE /channels/{channel}"
	GetMessages        = "GET /channels/{channel}/messages"
	CreateMessage      = "POST /channels/{channel}/messages"
	GetMessage         = "GET /channels/{channel}/messages/{message}"
	EditMessage        = "PATCH /channels/{channel}/messages/{message}"
	DeleteMessage      = "DELETE /channels/{channel}/messages/{message}"
	StartThreadOn      = "POST /channels/{channel}/messages/{message}/threads"
	StartThread        = "POST /channels/{channel}/threads"
	TriggerTyping      = "POST /channels/{channel}/typing"
	GetThreadMembers   = "GET /channels/{channel}/thread-members"
	GetThreadMember    = "GET /channels/{channel}/thread-members/{user}"
	JoinThread         = "PUT /channels/{channel}/thread-members/{user}"
	LeaveThread        = "DELETE /channels/{channel}/thread-members/{user}"
	Callback           = "POST /interactions/{interaction}/{token}/callback"
	CreateFollowup     = "POST /webhooks/{app}/{token}"
	GetOriginal        = "GET /webhooks/{app}/{token}/messages/@original"
	EditOriginal       = "PATCH /webhooks/{app}/{token}/messages/@original"
	DeleteOriginal     = "DELETE /webhooks/{app}/{token}/messages/@original"
	GetFollowup        = "GET /webhooks/{app}/{token}/messages/{message}"
	EditFollowup       = "PATCH /webhooks/{app}/{token}/messages/{message}"
	DeleteFollowup     = "DELETE /webhooks/{app}/{token}/messages/{message}"
	GetCommands        = "GET /applications/{app}/commands"
	PutCommands        = "PUT /applications/{app}/commands"
	CreateCommand      = "POST /applications/{app}/commands"
	GetGuildCommands   = "GET /applications/{app}/guilds/{guild}/commands"
	PutGuildCommands   = "PUT /applications/{app}/guilds/{guild}/commands"
	CreateGuildCommand = "POST /applications/{app}/guilds/{guild}/commands"
)

// handler answers a request that was let in: a status and a body, or a refusal. s.mu is held.
type handler func(*Server, *request) (int, any, *refusal)

type route struct {
	run handler
	// open: no token is asked for, and the global limit does not count it. Interaction endpoints are so.
	// https://docs.discord.com/developers/topics/rate-limits#global-rate-limit
	open bool
	json bool // it takes a body
}

func table() map[string]route {
	return map[string]route{
		GetGateway:         {run: getGateway, open: true},
		GetGatewayBot:      {run: getGatewayBot},
		GetSelf:            {run: getSelf},
		GetSelfGuilds:      {run: getSelfGuilds},
		GetUser:            {run: getUser},
		GetApplication:     {run: getApplication},
		EditApplication:    {run: editApplication, json: true},
		GetGuild:           {run: getGuild},
		GetMember:          {run: getMember},
		GetRoles:           {run: getRoles},
		GetChannels:        {run: getChannels},
		GetActiveThreads:   {run: getActiveThreads},
		CreateDM:           {run: createDM, json: true},
		GetChannel:         {run: getChannel},
		EditChannel:        {run: editChannel, json: true},
		DeleteChannelCall:  {run: deleteChannel},
		GetMessages:        {run: getMessages},
		CreateMessage:      {run: createMessage, json: true},
		GetMessage:         {run: getMessage},
		EditMessage:        {run: editMessage, json: true},
		DeleteMessage:      {run: deleteMessage},
		StartThreadOn:      {run: startThreadOn, json: true},
		StartThread:        {run: startThread, json: true},
		TriggerTyping:      {run: triggerTyping},
		GetThreadMembers:   {run: getThreadMembers},
		GetThreadMember:    {run: getThreadMember},
		JoinThread:         {run: joinThread},
		LeaveThread:        {run: leaveThread},
		Callback:           {run: callback, open: true, json: true},
		CreateFollowup:     {run: createFollowup, open: true, json: true},
		GetOriginal:        {run: getFollowup, open: true},
		EditOriginal:       {run: editFollowup, open: true, json: true},
		DeleteOriginal:     {run: deleteFollowup, open: true},
		GetFollowup:        {run: getFollowup, open: true},
		EditFollowup:       {run: editFollowup, open: true, json: true},
		DeleteFollowup:     {run: deleteFollowup, open: true},
		GetCommands:        {run: getCommands},
		PutCommands:        {run: putCommands, json: true},
		CreateCommand:      {run: createCommand, json: true},
		GetGuildCommands:   {run: getCommands},
		PutGuildCommands:   {run: putCommands, json: true},
		CreateGuildCommand: {run: createCommand, json: true},
	}
}

func (s *Server) routes() http.Handler {
	api := http.NewServeMux()
	for method, r := range table() {
		api.HandleFunc(method, func(w http.ResponseWriter, q *http.Request) { s.serve(w, q, method, r) })
	}
	api.HandleFunc("/", func(w http.ResponseWriter, q *http.Request) {
		s.serve(w, q, "", route{run: func(*Server, *request) (int, any, *refusal) {
			return 0, nil, &refusal{status: http.StatusNotFound, message: "404: Not Found"}
		}, open: true})
	})
	mux := http.NewServeMux()
	for _, v := range []string{"v9", "v10"} {
		mux.HandleFunc("/api/"+v+"/", func(w http.ResponseWriter, r *http.Request) {
			s.mu.Lock()
			s.versions[v]++
			s.mu.Unlock()
			http.StripPrefix("/api/"+v, api).ServeHTTP(w, r)
		})
	}
	mux.HandleFunc("/api/", func(w http.ResponseWriter, _ *http.Request) {
		respond(w, http.StatusBadRequest, obj{"message": "Invalid API version", "code": 50041}, nil)
	})
	for _, p := range []string{"/gateway", "/gateway/", "/resume", "/resume/"} {
		mux.HandleFunc(p, s.serveSocket)
	}
	s.oauth(mux, api)
	mux.HandleFunc("GET /attachments/{channel}/{id}/{name}", s.serveFile)
	return mux
}
