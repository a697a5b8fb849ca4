package signin

import (
	"context"
	"net/url"
	"slices"
)

// Doors are those of one page: one of a provider's at most, and one of each platform. All have the same Page.
type Doors []*Door

// Of is the door of a platform, or of the provider for the empty name; nil where there is none.
func (d Doors) Of(platform string) *Door {
	i := slices.IndexFunc(d, func(x *Door) bool { return x.Platform == platform })
	if i < 0 {
		return nil
	}
	return d[i]
}

// Know reports whether an [Door.ID] is of one of them: whoever came in by another is out.
func (d Doors) Know(id string) bool {
	return slices.ContainsFunc(d, func(x *Door) bool { return x.id == id })
}

// Finish is [Door.Finish] of the door by which the sign-in began, which it gives as well.
func (d Doors) Finish(ctx context.Context, cookie string, q url.Values, once Once) (*Door, Person, error) {
	for _, x := range d {
		if _, ok := x.open(cookie); ok {
			who, err := x.Finish(ctx, cookie, q, once)
			return x, who, err
		}
	}
	return nil, Person{}, refuse("sign_in_stale", sayStale, "there is no cookie of a sign-in that began here")
}
