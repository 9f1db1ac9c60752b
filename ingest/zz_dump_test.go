package ingest

import ("testing";"os";"fmt";"strings")

func TestZZDump(t *testing.T) {
	p := os.Getenv("DUMP")
	if p == "" { t.Skip() }
	ins, err := Discover(strings.Fields(p), DiscoverOptions{})
	if err != nil { t.Fatal(err) }
	for _, in := range ins {
		fmt.Println("ROOT", in.Root, "ignored", in.Ignored)
		logs, w, err := Match(in)
		fmt.Println(w, err)
		for _, l := range logs {
			e := ""
			if l.Entry != nil { e = fmt.Sprint(l.Entry.JobName, " N=", l.Entry.Dirs[0].Kind[0].N) }
			fmt.Println(" ", l.LogName, "host", l.Host, "job", l.Job, "entry", e, "members", l.Members, "section", l.Section != nil, l.Start)
			if l.Meta != nil { fmt.Print("    wall "); fmt.Println(WallClock(logs, l.Meta)) }
		}
	}
}
