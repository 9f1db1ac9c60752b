package runsource

import (
	"testing"

	"fiolat/esmodel/client"
)

// TestCredentials: what the environment holds for Elastic's tools counts only without credentials of fiolat's own.
func TestCredentials(t *testing.T) {
	elastic := map[string]string{"ES_USERNAME": "elastic", "ES_PASSWORD": "theirs"}
	const key, token = "ELASTICSEARCH_API_KEY", "ELASTICSEARCH_SERVICE_TOKEN"
	for _, tt := range []struct {
		name string
		o    Elasticsearch
		env  map[string]string // beside elastic
		want client.Config
	}{
		{"theirs", Elasticsearch{}, nil, client.Config{Username: "elastic", Password: "theirs"}},
		{"our password", Elasticsearch{}, map[string]string{"ELASTICSEARCH_PASSWORD": "ours"},
			client.Config{Username: "elastic", Password: "ours"}},
		{"our user", Elasticsearch{User: "me"}, map[string]string{"ES_API_KEY": "k"},
			client.Config{Username: "me", Password: "theirs"}},
		{"our user and password", Elasticsearch{User: "me"}, map[string]string{"ELASTICSEARCH_PASSWORD": "ours"},
			client.Config{Username: "me", Password: "ours"}},
		{"our key", Elasticsearch{}, map[string]string{key: "k", "ES_API_KEY": "k2"}, client.Config{APIKey: "k"}},
		{"our token", Elasticsearch{}, map[string]string{token: "t"}, client.Config{ServiceToken: "t"}},
		{"user in the URL", Elasticsearch{Addresses: []string{"http://me:pw@h"}}, nil, client.Config{}},
		{"their key", Elasticsearch{}, map[string]string{"ES_USERNAME": "", "ES_API_KEY": "k"},
			client.Config{APIKey: "k"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, name := range []string{"ELASTICSEARCH_PASSWORD", key, token, "ES_API_KEY"} {
				t.Setenv(name, "")
			}
			for _, env := range []map[string]string{elastic, tt.env} {
				for name, v := range env {
					t.Setenv(name, v)
				}
			}
			got, err := tt.o.Config()
			if err != nil || got.Username != tt.want.Username || got.Password != tt.want.Password ||
				got.APIKey != tt.want.APIKey || got.ServiceToken != tt.want.ServiceToken {
				t.Errorf("user %q, password %q, key %q, token %q, %v", got.Username, got.Password, got.APIKey,
					got.ServiceToken, err)
			}
		})
	}
}
