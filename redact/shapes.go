package redact

import (
	"encoding/base64"
	"math"
	"strings"
)

// shapes are the rules for secrets that are known by more than a prefix.
func shapes() []rule {
	return []rule{
		{name: "private-key", source: "RFC 7468, PEM labels that end in PRIVATE KEY", anchors: []string{"-----BEGIN "}, match: privateKey},
		{name: "jwt", source: "RFC 7519, three base64url parts; a JSON object begins with eyJ", anchors: []string{"eyJ"}, match: jwt},
		{name: "bearer", source: "RFC 6750, Authorization: Bearer", anchors: []string{"bearer "}, fold: true, match: bearer},
		{name: "basic-auth", source: "RFC 7617, Authorization: Basic", anchors: []string{"basic "}, fold: true, match: basic},
		{name: "url-password", source: "RFC 3986, section 3.2.1: userinfo", anchors: []string{"://"}, match: urlPassword},
		{name: "slack-webhook", source: "Slack API, Incoming webhooks", anchors: []string{"hooks.slack.com/services/"}, match: webhook},
		{name: "discord-webhook", source: "Discord Developers, Webhook resource", anchors: []string{"discord.com/api/webhooks/", "discordapp.com/api/webhooks/"}, match: webhook},
		{name: "telegram-token", source: "Telegram Bot API, Authorizing your bot", anchors: []string{":AA"}, match: telegram},
		{name: "azure-account-key", source: "Azure Storage, connection strings", anchors: []string{"AccountKey="}, match: accountKey},
		{name: "assignment", source: "own rule: a name that says it is a secret, and a value that looks drawn", fold: true,
			anchors: []string{"password", "passwd", "secret", "token", "api_key", "apikey", "api-key", "access_key", "accesskey", "private_key", "credential"}, match: assignment},
	}
}

// privateKey takes the body between the two lines out. A body that does not
// end is taken as far as it goes.
func privateKey(s string, at, after int) (int, int) {
	line := s[after:min(len(s), after+64)]
	dashes := strings.Index(line, "-----")
	if dashes < 0 || !strings.HasSuffix(line[:dashes], "PRIVATE KEY") && !strings.HasSuffix(line[:dashes], "PRIVATE KEY BLOCK") {
		return 0, 0
	}
	start := after + dashes + len("-----")
	end, body := start, 0
	for end < len(s) && pemChars.has(s[end]) && !strings.HasPrefix(s[end:], "-----") {
		if base64Chars.has(s[end]) {
			body++
		}
		end++
	}
	if body < 48 {
		return 0, 0
	}
	return start, end
}

func run(s string, from int, set charset) int {
	for from < len(s) && set.has(s[from]) {
		from++
	}
	return from
}

func jwt(s string, at, after int) (int, int) {
	if at > 0 && isWord(s[at-1]) {
		return 0, 0
	}
	first := run(s, after, tokenChars)
	if first-after < 10 || first >= len(s) || s[first] != '.' || !strings.HasPrefix(s[first+1:], "eyJ") {
		return first, first
	}
	second := run(s, first+1, tokenChars)
	if second-first < 10 || second >= len(s) || s[second] != '.' {
		return 0, 0
	}
	end := run(s, second+1, tokenChars)
	if end-second < 11 {
		return 0, 0
	}
	return at, end
}

func bearer(s string, at, after int) (int, int) {
	if at > 0 && isWord(s[at-1]) {
		return 0, 0
	}
	end := run(s, after, bearerChars)
	if end-after < 20 || !mixed(s[after:end]) || placeholder(s[after:end]) {
		return 0, 0
	}
	return after, end
}

func basic(s string, at, after int) (int, int) {
	if at > 0 && isWord(s[at-1]) {
		return 0, 0
	}
	end := run(s, after, base64Chars)
	decoded, err := base64.StdEncoding.DecodeString(s[after:end])
	if err != nil || len(decoded) < 8 || !strings.Contains(string(decoded), ":") {
		return 0, 0
	}
	for _, c := range decoded {
		if c < 0x20 {
			return 0, 0
		}
	}
	return after, end
}

// urlPassword takes the password out of scheme://user:password@host.
func urlPassword(s string, at, after int) (int, int) {
	if at == 0 || !isAlnum(s[at-1]) {
		return 0, 0
	}
	colon, end := -1, after
	for ; end < len(s) && end-after < 512 && strings.IndexByte("/?#@ \t\r\n\"'`<>\\{}()", s[end]) < 0; end++ {
		if s[end] == ':' && colon < 0 {
			colon = end
		}
	}
	if colon < 0 || end >= len(s) || s[end] != '@' || end-colon < 2 || end+1 >= len(s) || !isAlnum(s[end+1]) && s[end+1] != '[' {
		return 0, 0
	}
	value := s[colon+1 : end]
	if value[0] == '$' || value[0] == '%' && len(value) < 4 || placeholder(value) {
		return 0, 0
	}
	return colon + 1, end
}

func webhook(s string, at, after int) (int, int) {
	end := run(s, after, slashed)
	if end-after < 24 || !mixed(s[after:end]) {
		return 0, 0
	}
	return after, end
}

// telegram is digits, a colon, and 35 characters that begin with AA.
func telegram(s string, at, after int) (int, int) {
	start := at
	for start > 0 && at-start < 11 && '0' <= s[start-1] && s[start-1] <= '9' {
		start--
	}
	end := run(s, after, tokenChars)
	if at-start < 8 || at-start > 10 || end-at != 36 || start > 0 && isWord(s[start-1]) && !strings.HasSuffix(s[:start], "bot") {
		return 0, 0
	}
	return start, end
}

func accountKey(s string, at, after int) (int, int) {
	end := run(s, after, base64Chars)
	if end-after < 44 {
		return 0, 0
	}
	return after, end
}

// assignment is a name that ends in a word for a secret, an equals sign or a
// colon, and a value that looks drawn. The value is in quotes, or the name
// begins its line as in an environment file.
func assignment(s string, at, after int) (int, int) {
	i := after
	for i < len(s) && (isWord(s[i]) || s[i] == '-') && i-after < 24 {
		i++ // SECRET_KEY, token2
	}
	i = skip(s, i, "\"'")
	i = skip(s, i, " \t")
	operator := i
	i = skip(s, i, ":=>")
	if i == operator || i-operator > 2 {
		return 0, 0
	}
	i = skip(s, i, " \t")
	quoted := i < len(s) && strings.IndexByte("\"'`", s[i]) >= 0
	if quoted {
		i++
	} else if !beginsLine(s, at) {
		return 0, 0
	}
	end := run(s, i, valueChars)
	value := s[i:end]
	if quoted && (end >= len(s) || strings.IndexByte("\"'`\\", s[end]) < 0) {
		return 0, 0
	}
	if !quoted && end < len(s) && strings.IndexByte(" \t\r\n;#,\"'`\\", s[end]) < 0 {
		return 0, 0
	}
	if len(value) < 16 || !drawn(value) || placeholder(value) {
		return 0, 0
	}
	return i, end
}

func skip(s string, i int, set string) int {
	for i < len(s) && strings.IndexByte(set, s[i]) >= 0 {
		i++
	}
	return i
}

// maxNameBytes is how far before a word for a secret its name may begin.
const maxNameBytes = 128

// beginsLine reports whether only the beginning of a name stands between the
// beginning of the line, of a string or of a command, and at: as in
// "export AWS_SECRET".
func beginsLine(s string, at int) bool {
	line := s[max(0, at-maxNameBytes):at]
	line = line[strings.LastIndexAny(line, "\n\"'`;&|(")+1:]
	line = strings.TrimPrefix(strings.TrimLeft(line, " \t\\"), "export ")
	for i := range len(line) {
		if !isWord(line[i]) && line[i] != '-' && line[i] != '.' {
			return false
		}
	}
	return true
}

// drawn reports whether a value looks like one that a machine drew: at least
// 3.2 bits to a character, and digits between the letters or lower-case runs
// shorter than words have.
func drawn(s string) bool {
	if !mixed(s) {
		return false
	}
	var count [256]int
	var digitCount, digitEdges, lowerCount, lowerRuns, upperCount int
	for i := range len(s) {
		c, before := s[i], byte(0)
		if i > 0 {
			before = s[i-1]
		}
		count[c]++
		if isDigit(c) {
			digitCount++
		}
		if i > 0 && isDigit(c) != isDigit(before) {
			digitEdges++
		}
		switch {
		case 'a' <= c && c <= 'z':
			lowerCount++
			if before < 'a' || before > 'z' {
				lowerRuns++
			}
		case 'A' <= c && c <= 'Z':
			upperCount++
		}
	}
	bits := 0.0
	for _, n := range count {
		if n > 0 {
			p := float64(n) / float64(len(s))
			bits -= p * math.Log2(p)
		}
	}
	manyDigits := digitCount >= 3 && digitEdges >= 3
	shortRuns := upperCount > 0 && lowerRuns > 0 && 2*lowerCount <= 5*lowerRuns
	return bits >= 3.2 && (manyDigits || shortRuns)
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }
