package main

import (
	"encoding/xml"
	"io"

	"fiolat/fio"
	"fiolat/fio/sla"
	"fiolat/pipeline"
)

// formatJUnit is the word of --format for verdicts as the XML that CI systems show as tests.
const formatJUnit = "junit"

// junitSuite is a list of verdicts, a test case for each rule.
type junitSuite struct {
	XMLName  xml.Name    `xml:"testsuite"`
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Skipped  int         `xml:"skipped,attr"`
	Cases    []junitCase `xml:"testcase"`
}

type junitCase struct {
	Of      string        `xml:"classname,attr"`
	Name    string        `xml:"name,attr"`
	Failure *junitMessage `xml:"failure"`
	Skipped *junitMessage `xml:"skipped"`
}

type junitMessage struct {
	Summary string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

// add adds the verdict on what a rule is about. why is "" if it holds; skipped says that it could not be judged.
func (s *junitSuite) add(of, rule, why string, skipped bool) {
	c := junitCase{Of: of, Name: rule}
	switch message := &(junitMessage{why, why}); {
	case skipped:
		c.Skipped = message
		s.Skipped++
	case why != "":
		c.Failure = message
		s.Failures++
	}
	s.Tests++
	s.Cases = append(s.Cases, c)
}

func (s *junitSuite) write(w io.Writer) error {
	text, err := xml.MarshalIndent(s, "", " ")
	if err == nil {
		_, err = io.WriteString(w, xml.Header+string(text)+"\n")
	}
	return err
}

// junitSLA are the verdicts on the rules of a run. What is not certain is skipped, or fails as --fail-on-sla asks for.
func junitSLA(run *pipeline.Run, s *pipeline.Summary, failOn string) *junitSuite {
	suite := &junitSuite{Name: "fiolat percentiles"}
	for _, o := range s.SLA {
		why := ""
		if o.Status() != sla.OK {
			why = fio.Printable(o.String())
		}
		suite.add(fio.Printable(run.Name), o.Rule.Text, why, o.Status() == sla.Unknown && failOn != unlessOK)
	}
	return suite
}
