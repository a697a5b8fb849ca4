package e2e

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/nodhq/nod/tests/standins/stand"
)

// harm is one thing that goes wrong.
type harm func(c *disorder, r *rand.Rand)

// chaosStore is what the bots keep everything in, with what goes wrong there.
type chaosStore struct {
	name       string
	durability string // empty: local
	forgets    bool   // what was acknowledged may be gone: people say it again, and a call may run once for each time that it was allowed
	open       func(c *disorder) (url string)
}

var chaosStores = []chaosStore{
	{name: "one", open: func(c *disorder) string {
		c.redis = startRedis(c.t)
		c.line = openWire(c.t, c.redis)
		c.harms = []harm{killBot, killBot, killBot, killBot, stopBot, killRedis, holdLine, halveReplies, halveReplies, cutLine, refuse, refuse}
		return c.line.url
	}},
	// Nothing but killed bots: the longest wait is how long it takes until another one goes on.
	{name: "killed", open: func(c *disorder) string {
		c.redis = startRedis(c.t)
		c.harms = []harm{killBot}
		return c.redis.url
	}},
	// Redis comes back without the end of its file, or without anything.
	{name: "forgetful", forgets: true, open: func(c *disorder) string {
		c.redis = startRedis(c.t)
		c.line = openWire(c.t, c.redis)
		c.harms = []harm{cutFile, cutFile, flushAll, killBot, killBot, stopBot}
		return c.line.url
	}},
	// A replica is promoted that has not heard of the last second. Decisions and starts wait until it has.
	{name: "failover", durability: "replicas=1", forgets: true, open: func(c *disorder) string {
		c.redis = startRedis(c.t)
		c.line = openWire(c.t, c.redis)
		c.spare = startRedis(c.t)
		follow(c, c.spare, c.redis)
		c.harms = []harm{killBot, killBot, stopBot, cutLine, failover, failover}
		return c.line.url
	}},
	// Sentinel promotes the replica when the primary dies.
	{name: "sentinel", durability: "replicas=1", forgets: true, open: func(c *disorder) string {
		c.redis, c.spare = startRedisAt(c.t), startRedisAt(c.t)
		follow(c, c.spare, c.redis)
		port, file := stand.FreePort(c.t), filepath.Join(c.t.TempDir(), "sentinel.conf")
		conf := fmt.Sprintf("port %d\nsentinel monitor nod 127.0.0.1 %d 1\nsentinel down-after-milliseconds nod 1000\nsentinel failover-timeout nod 4000\n", port, c.redis.port)
		if err := os.WriteFile(file, []byte(conf), 0o600); err != nil {
			c.t.Fatal(err)
		}
		spawn(c.t, exec.Command(c.redis.args[0], file, "--sentinel"), func(line string) bool { return strings.Contains(line, "+monitor") })
		c.harms = []harm{killBot, killBot, stopBot, sentinel, sentinel}
		return fmt.Sprintf("redis://127.0.0.1:%d?master_name=nod&username=nod&password=secret", port)
	}},
	// The slots of a Cluster move from node to node.
	{name: "cluster", open: func(c *disorder) string {
		nodes := [3]*redisServer{}
		var at []string
		for i := range nodes {
			nodes[i] = startRedisAt(c.t, "--cluster-enabled", "yes", "--cluster-port", strconv.Itoa(stand.FreePort(c.t)))
			at = append(at, fmt.Sprintf("127.0.0.1:%d", nodes[i].port))
		}
		c.cluster(append(append([]string{"create"}, at...), "--cluster-yes")...)
		until(c.t, "the Cluster is formed", func() bool {
			return !slices.ContainsFunc(nodes[:], func(n *redisServer) bool { return !strings.Contains(n.do(c.t, "CLUSTER", "INFO"), "cluster_state:ok") })
		})
		c.harms = []harm{killBot, killBot, stopBot, reshard(nodes), reshard(nodes)}
		return fmt.Sprintf("redis://%s%s?addr=%s&addr=%s", nodes[0].user, at[0], at[1], at[2])
	}},
}

func killBot(c *disorder, r *rand.Rand) {
	c.count("bots killed", 1)
	b := c.bots[r.IntN(len(c.bots))]
	b.kill()
	<-time.After(time.Duration(r.IntN(2000)) * time.Millisecond)
	b.start()
}

func stopBot(c *disorder, r *rand.Rand) {
	c.count("bots stopped for longer than a lease, then let go on", 1)
	b := c.bots[r.IntN(len(c.bots))]
	for _, s := range []syscall.Signal{syscall.SIGSTOP, syscall.SIGCONT} {
		if err := b.cmd.Process.Signal(s); err != nil {
			c.t.Error(err)
		}
		if s == syscall.SIGSTOP {
			<-time.After(chaosLease + time.Second)
		}
	}
}

func killRedis(c *disorder, _ *rand.Rand) {
	c.count("Redis killed", 1)
	c.redis.kill()
	c.redis.start(c.t)
}

func holdLine(c *disorder, r *rand.Rand) {
	c.count("Redis unreachable for a while", 1)
	c.line.pause(time.Duration(500+r.IntN(1500)) * time.Millisecond)
}

func halveReplies(c *disorder, r *rand.Rand) {
	k := 1 + r.IntN(4)
	c.count("replies of Redis cut in half", k)
	c.line.harm(k, "")
}

func cutLine(c *disorder, _ *rand.Rand) {
	c.count("all connections to Redis cut", 1)
	c.line.cut()
}

func refuse(c *disorder, r *rand.Rand) {
	k := 1 + r.IntN(4)
	c.count("commands that Redis refused", k)
	c.line.harm(k, wrong[r.IntN(len(wrong))])
}

// cutFile is a disk that did not keep the end of what Redis wrote.
func cutFile(c *disorder, r *rand.Rand) {
	c.count("Redis killed, and its file cut at the end", 1)
	c.redis.kill()
	files, err := filepath.Glob(filepath.Join(c.redis.data, "appendonlydir", "*.incr.aof"))
	if err != nil || len(files) == 0 {
		c.t.Errorf("there is no file to cut: %v", err)
		return
	}
	if info, err := os.Stat(files[0]); err != nil {
		c.t.Error(err)
	} else if err := os.Truncate(files[0], max(info.Size()-int64(1+r.IntN(8000)), 0)); err != nil {
		c.t.Error(err)
	}
	c.redis.start(c.t)
}

func flushAll(c *disorder, _ *rand.Rand) {
	c.count("FLUSHALL", 1)
	c.redis.do(c.t, "FLUSHALL")
}

// follow makes one server a replica of another one.
func follow(c *disorder, replica, primary *redisServer) {
	if primary.port == 0 {
		primary.port = stand.FreePort(c.t)
		primary.do(c.t, "CONFIG", "SET", "port", primary.port)
	}
	replica.do(c.t, "REPLICAOF", "127.0.0.1", primary.port)
}

// failover promotes a replica that has not heard of up to the last second. The old primary comes back empty, and follows it.
func failover(c *disorder, r *rand.Rand) {
	if info := c.spare.do(c.t, "INFO", "replication"); !strings.Contains(info, "master_link_status:up") {
		return // it does not follow yet
	}
	c.count("failovers that lost up to the last second", 1)
	c.spare.do(c.t, "REPLICAOF", "NO", "ONE")
	<-time.After(time.Duration(r.IntN(1000)) * time.Millisecond)
	c.redis.kill()
	c.line.lead(c.spare)
	c.redis, c.spare = c.spare, c.redis
	if err := os.RemoveAll(filepath.Join(c.spare.data, "appendonlydir")); err != nil {
		c.t.Error(err)
	}
	c.spare.port = 0
	c.spare.start(c.t)
	follow(c, c.spare, c.redis)
}

// sentinel kills the primary, and starts it again once another one is promoted, which it then follows.
func sentinel(c *disorder, _ *rand.Rand) {
	if info := c.spare.do(c.t, "INFO", "replication"); !strings.Contains(info, "master_link_status:up") {
		return
	}
	c.count("failovers by Sentinel", 1)
	c.redis.kill()
	until(c.t, "Sentinel promotes the replica", func() bool { return strings.Contains(c.spare.do(c.t, "INFO", "replication"), "role:master") })
	c.redis.start(c.t)
	c.redis, c.spare = c.spare, c.redis
}

// cluster runs redis-cli's commands for one.
func (c *disorder) cluster(args ...string) {
	if said, err := exec.Command("redis-cli", append([]string{"--cluster"}, args...)...).CombinedOutput(); err != nil {
		c.t.Errorf("redis-cli --cluster %v: %v\n%s", args, err, said)
	}
}

// reshard moves some slots, with the keys that are in them, from one node to another.
func reshard(nodes [3]*redisServer) harm {
	return func(c *disorder, r *rand.Rand) {
		c.count("moves of 1,500 slots of the Cluster", 1)
		order := r.Perm(len(nodes))
		from, to := nodes[order[0]], nodes[order[1]]
		c.cluster("reshard", fmt.Sprintf("127.0.0.1:%d", from.port), "--cluster-from", from.do(c.t, "CLUSTER", "MYID"), "--cluster-to", to.do(c.t, "CLUSTER", "MYID"),
			"--cluster-slots", "1500", "--cluster-yes")
	}
}

// do is one command of somebody who may do everything.
func (r *redisServer) do(t *testing.T, args ...any) (said string) {
	t.Helper()
	db := redis.NewClient(&redis.Options{Network: "unix", Addr: r.sock})
	defer db.Close()
	got, err := db.Do(t.Context(), args...).Result()
	if err != nil {
		t.Errorf("%v: %v", args, err)
	}
	return fmt.Sprint(got)
}
