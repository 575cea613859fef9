package compaction_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/forge-agent/forge/checkpoint"
	"github.com/forge-agent/forge/compaction"
)

// "Must reach" 2: rules that share words with leave and test results, but
// bound a named thing, say how work is done, or ask to be asked.
func TestRulesThatSoundLikeLeaveAreShown(t *testing.T) {
	for _, text := range []string{
		"I want to approve each migration myself.",
		"I want to sign off on every release.",
		"Retries are allowed up to 3 times.",
		"Die Tests laufen auf Node 20.",
		"Les tests passent par docker compose.",
		"Los tests pasan por docker.",
		"I test passano da docker.",
		"테스트는 모두 spec 폴더에 두세요.",
		"테스트 전부 tests/unit 아래에 둡니다.",
		"배포는 항상 helm으로 진행해 주세요.",
		"작업은 한 단계씩 진행하세요.",
		"maxUploads는 최대 12개로 설정 가능합니다.",
		"parseQueue는 빈 값을 허용해야 합니다.",
		"삭제하기 전에 확인은 필요합니다.",
		"입력 검증은 zod로 완료하세요.",
		"로그인 성공 시 토큰을 반환합니다.",
		"권한 검사는 middleware에서 합니다.",
	} {
		b := newBuilder(t)
		b.user(text)
		b.padding()
		p := compact(t, compaction.Input{Transcript: b.tr, TargetTokens: 2000})
		if want := strings.TrimRight(checkpoint.FoldSpace(text), "."); !strings.Contains(p.Text, want) {
			t.Errorf("%q is held back", text)
		}
	}
}

// "Must reach" 2, DESIGN.md section 6: what a person wrote is shown while there
// is room, routine too.
func TestUserTextIsShownWhereThereIsRoom(t *testing.T) {
	b := newBuilder(t)
	var said []string
	for i := range 40 {
		text := fmt.Sprintf("give src/part%d/main.go at most forty lines", i)
		if i%4 == 3 {
			text = fmt.Sprintf("why does src/part%d/main.go take so long?", i)
		}
		said = append(said, text)
		b.user(text)
		b.padding()
	}
	p := compact(t, compaction.Input{Transcript: b.tr, TargetTokens: 4000, RangeTokens: 20_000})
	for _, text := range said {
		if !strings.Contains(p.Text, text) {
			t.Errorf("%q is left out", text)
		}
	}
	if p.PinsLeftOut != 0 {
		t.Errorf("%d pins left out", p.PinsLeftOut)
	}
}
