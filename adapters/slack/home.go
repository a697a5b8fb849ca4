package slack

import (
	"context"

	"github.com/slack-go/slack"

	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/render"
)

// slackHome is the type of the view that is a Home tab.
const slackHome = "home"

// visited draws the Home tab for whoever opens it, where they were when they left it.
func (a *Adapter) visited(ctx context.Context, m visited) {
	if a.Settings == nil {
		return
	}
	by, no := a.decider(ctx, m.user, "")
	if no != "" {
		a.publishOnce(ctx, m.user, "", panelHome(render.Panel{Title: saySettings}, panelForm{}, no, a.linkOf))
		return
	}
	f, err := parsePanel(m.meta)
	if err != nil { // the first time, or of an older version
		f = panelForm{}
	}
	f.At, f.Token = place{}, ""
	env := chat.Envelope{Delivery: chat.Delivery("h:" + m.user + ":" + m.stamp), User: by.User, Name: by.Name}
	a.publish(ctx, m.user, m.hash, f, env, "")
}

// publish draws somebody's Home tab. Where it was drawn meanwhile, it is read and drawn once more.
func (a *Adapter) publish(ctx context.Context, user, hash string, f panelForm, env chat.Envelope, say string) {
	for {
		p, ok := a.panel(ctx, &f, env)
		if !ok {
			p, say = render.Panel{View: f.View, Title: saySettings, Tabs: []render.Act{{Kind: render.ActGo, View: f.View, Label: sayTryAgain}}}, joinedLines(say, sayNoPanel)
		}
		if stale := a.publishOnce(ctx, user, hash, panelHome(p, f, say, a.linkOf)); !stale {
			return
		}
		hash = ""
	}
}

// publishOnce draws a Home tab, unless it is not as it was when its hash was read: then it is stale.
func (a *Adapter) publishOnce(ctx context.Context, user, hash string, v slack.HomeTabViewRequest) (stale bool) {
	if err := checkHome(v); err != nil {
		a.Logger.Error("slack: a Home tab breaks a rule of Slack's; showing that it cannot be shown", "err", err)
		v.Blocks.BlockSet = []slack.Block{slack.NewSectionBlock(plainText(sayNotDrawn), nil, nil)}
	}
	req := slack.PublishViewContextRequest{UserID: user, View: v}
	if hash != "" {
		req.Hash = &hash
	}
	_, err := a.api.PublishViewContext(ctx, req)
	if stale = hash != "" && conflict(err); err != nil && !stale {
		a.Logger.Warn("slack: a Home tab was not drawn", "err", faultOf(err))
	}
	return stale
}
