package redact

import "strings"

// A rule finds one kind of secret. An anchor is a string that stands in every
// secret of the kind, so that text without it costs one search.
type rule struct {
	name string
	// source is where the form is stated.
	source  string
	anchors []string
	// fold: the anchors are in lower case and any case matches.
	fold bool
	// match looks around the anchor s[at:after] and returns what to take out. An
	// empty range is for nothing: none of the rule ends before its end, so that
	// hostile text is not passed over again and again.
	match func(s string, at, after int) (start, end int)
}

// Rules returns the names of the rules and where the form of each is stated.
func Rules() map[string]string {
	out := map[string]string{}
	for _, r := range rules() {
		out[r.name] = r.source
	}
	return out
}

// rules returns the table. More special prefixes stand before those that
// begin like them.
func rules() []rule {
	var out []rule
	for _, p := range prefixes {
		out = append(out, rule{name: p.name, source: p.source, anchors: strings.Fields(p.anchors), match: p.token})
	}
	return append(out, shapes()...)
}

// A prefix is a token that begins with a fixed string.
type prefix struct {
	name, source string
	anchors      string // separated by spaces
	set          charset
	least        int // characters after the anchor
	mixed        bool
}

// token matches the run of characters after the anchor. A token stands on its
// own: no letter, digit or underscore before it.
func (p prefix) token(s string, at, after int) (int, int) {
	if at > 0 && isWord(s[at-1]) {
		return 0, 0
	}
	end := after
	for end < len(s) && p.set.has(s[end]) {
		end++
	}
	for end > after && strings.IndexByte("-._=", s[end-1]) >= 0 {
		end-- // punctuation after the token
	}
	if end-after < p.least || p.mixed && !mixed(s[after:end]) || placeholder(s[after:end]) {
		return end, end
	}
	return at, end
}

// The forms stand on the vendors' own pages on authentication; the source
// says which one.
var prefixes = []prefix{
	{name: "github-token", source: "GitHub Docs, About authentication to GitHub: token formats", anchors: "ghp_ gho_ ghu_ ghs_ ghr_", set: word64, least: 36},
	{name: "github-token", source: "GitHub Docs, About authentication to GitHub: token formats", anchors: "github_pat_", set: word64, least: 40},
	{name: "gitlab-token", source: "GitLab Docs, Token overview: token prefixes", anchors: "glpat- glptt- gldt- glrt- glcbt- glft- glsoat- glimt- glagent-", set: tokenChars, least: 20},
	{name: "aws-access-key-id", source: "AWS IAM User Guide, IAM identifiers: unique id prefixes", anchors: "AKIA ASIA ABIA ACCA", set: upperDigits, least: 16},
	{name: "slack-token", source: "Slack API, Token types", anchors: "xoxb- xoxp- xoxa- xoxr- xoxs- xoxe- xapp-", set: tokenChars, least: 20, mixed: true},
	{name: "stripe-key", source: "Stripe Docs, API keys", anchors: "sk_live_ sk_test_ rk_live_ rk_test_ whsec_", set: alnum, least: 16, mixed: true},
	{name: "anthropic-key", source: "Anthropic API, Authentication; Admin API keys", anchors: "sk-ant-", set: tokenChars, least: 24, mixed: true},
	{name: "openrouter-key", source: "OpenRouter Docs, Authentication", anchors: "sk-or-", set: tokenChars, least: 24, mixed: true},
	{name: "openai-key", source: "OpenAI Platform, API keys: project, service and admin keys", anchors: "sk-proj- sk-svcacct- sk-admin-", set: tokenChars, least: 24, mixed: true},
	{name: "api-key", source: "OpenAI Platform and DeepSeek API Docs: keys that begin with sk-", anchors: "sk-", set: alnum, least: 32, mixed: true},
	{name: "google-api-key", source: "Google Cloud, API keys overview", anchors: "AIza", set: tokenChars, least: 35, mixed: true},
	{name: "google-oauth", source: "Google Identity, OAuth 2.0: access tokens and client secrets", anchors: "ya29. GOCSPX-", set: dotted, least: 24, mixed: true},
	{name: "huggingface-token", source: "Hugging Face Hub Docs, User access tokens", anchors: "hf_", set: alnum, least: 30, mixed: true},
	{name: "npm-token", source: "npm Docs, About access tokens; GitHub Blog on the npm token format", anchors: "npm_", set: alnum, least: 36, mixed: true},
	{name: "pypi-token", source: "PyPI Help, API tokens", anchors: "pypi-AgE", set: tokenChars, least: 50, mixed: true},
	{name: "rubygems-key", source: "RubyGems Guides, API key", anchors: "rubygems_", set: hex, least: 48},
	{name: "docker-token", source: "Docker Docs, Access tokens", anchors: "dckr_pat_ dckr_oat_", set: tokenChars, least: 24, mixed: true},
	{name: "sendgrid-key", source: "SendGrid Docs, API keys", anchors: "SG.", set: dotted, least: 60, mixed: true},
	{name: "twilio-key", source: "Twilio Docs, API keys: SIDs", anchors: "SK", set: hex, least: 32},
	{name: "digitalocean-token", source: "DigitalOcean API, token prefixes", anchors: "dop_v1_ doo_v1_ dor_v1_", set: hex, least: 64},
	{name: "shopify-token", source: "Shopify developer changelog, token prefixes", anchors: "shpat_ shpca_ shppa_ shpss_", set: hex, least: 32},
	{name: "databricks-token", source: "Databricks Docs, Personal access tokens", anchors: "dapi", set: hex, least: 32},
	{name: "vault-token", source: "Vault Docs, Tokens: prefixes", anchors: "hvs. hvb. hvr.", set: tokenChars, least: 24, mixed: true},
	{name: "grafana-token", source: "Grafana Docs, Service account tokens", anchors: "glsa_ glc_", set: tokenChars, least: 32, mixed: true},
	{name: "linear-key", source: "Linear Developers, API keys", anchors: "lin_api_ lin_oauth_", set: alnum, least: 32, mixed: true},
	{name: "notion-token", source: "Notion API, Authorization", anchors: "ntn_ secret_", set: alnum, least: 43, mixed: true},
	{name: "supabase-token", source: "Supabase Docs, Management API", anchors: "sbp_", set: hex, least: 40},
	{name: "age-key", source: "age specification: X25519 identities", anchors: "AGE-SECRET-KEY-1", set: alnum, least: 50},
	{name: "groq-key", source: "Groq Docs, API keys", anchors: "gsk_", set: alnum, least: 40, mixed: true},
	{name: "xai-key", source: "xAI Docs, API keys", anchors: "xai-", set: alnum, least: 60, mixed: true},
	{name: "replicate-token", source: "Replicate Docs, API tokens", anchors: "r8_", set: alnum, least: 36, mixed: true},
	{name: "perplexity-key", source: "Perplexity Docs, API keys", anchors: "pplx-", set: alnum, least: 40, mixed: true},
	{name: "cerebras-key", source: "Cerebras Inference Docs, API keys", anchors: "csk-", set: alnum, least: 40, mixed: true},
	{name: "nvidia-key", source: "NVIDIA NIM Docs, API keys", anchors: "nvapi-", set: tokenChars, least: 50, mixed: true},
	{name: "postman-key", source: "Postman Docs, API keys", anchors: "PMAK-", set: tokenChars, least: 50, mixed: true},
	{name: "sentry-token", source: "Sentry Docs, Auth tokens", anchors: "sntrys_ sntryu_", set: tokenChars, least: 40, mixed: true},
	{name: "pulumi-token", source: "Pulumi Docs, Access tokens", anchors: "pul-", set: hex, least: 40},
	{name: "doppler-token", source: "Doppler Docs, Token formats", anchors: "dp.pt. dp.st. dp.sa. dp.ct.", set: dotted, least: 40, mixed: true},
	{name: "fly-token", source: "Fly.io Docs, Access tokens", anchors: "fm1_ fm2_ fo1_", set: base64Chars, least: 40, mixed: true},
}
