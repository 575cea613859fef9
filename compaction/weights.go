package compaction

// The weights of leaning. They were fitted to the phrasings and the small talk
// in internal/seeded (tuning, held-out, blind 1 to 5) by logistic regression,
// times 40, rounded; the cues were found with the lexicon as it was before each
// blind set was looked at (for the first two sets: before blind set 1), so that
// they weigh what cues are worth in phrasings that nobody tuned for.

// leanBase is where a sentence without cues and traits begins.
const leanBase = 19

// cueLean is what the cues of a family add: that one is there, that there are
// two, that one opens the sentence.
var cueLean = [familyCount][3]int{
	prohibit:  {70, 4, 15},
	oblige:    {20, 2, 9},
	wish:      {-7, 1, 2},
	condition: {30, 3, 31},
	guard:     {21, 0, -3},
	prefer:    {23, 2, 27},
	bound:     {-14, 42, -30},
	correct:   {15, 1, 21},
	decide:    {31, 1, -18},
	keep:      {47, 10, -5},
	order:     {48, 30, -29},
	grant:     {10, 0, 5},
	limit:     {14, 4, -5},
	claim:     {-11, 0, -3},
	doubt:     {-64, 7, -26},
	chatter:   {-29, -14, -19},
	narrate:   {-53, -50, -47},
	ask:       {-14, -11, -17},
	reason:    {19, 0, 1},
	choose:    {5, 0, 5},
	report:    {-5, 2, -3},
	back:      {-31, -7, -20},
	word:      {6, 23, -16},
	task:      {-15, 2, -37},
	contrast:  {25, 0, 0},
	test:      {6, 0, 9},
	success:   {-4, 2, 0},
	waive:     {33, 0, 5},
	consult:   {11, 2, 6},
	need:      {8, 0, 4},
	down:      {2, 0, -3},
	trouble:   {-33, -15, -14},
	know:      {-8, 0, 0},
	polite:    {24, 0, 23},
}

// traitLean is what the traits add.
var traitLean = [traitCount]int{
	traitQuestion: -26,
	traitAsks:     -55,
	traitTask:     -32,
	traitTalks:    -22,
	traitOrdered:  -12,
	traitName:     42,
	traitNames:    29,
	traitNumber:   -8,
	traitShort:    -27,
	traitLong:     45,
	traitLonger:   25,
	traitBare:     -66,
	traitWritten:  16,
	traitLower:    -16,
	traitComma:    48,
}
