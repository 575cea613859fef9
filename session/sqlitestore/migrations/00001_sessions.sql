-- +goose Up
CREATE TABLE sessions (
	key         INTEGER PRIMARY KEY,
	id          TEXT    NOT NULL UNIQUE,
	version     INTEGER NOT NULL,
	messages    INTEGER NOT NULL,
	hash        BLOB    NOT NULL, -- over all messages
	checkpoints INTEGER NOT NULL,
	info        BLOB    NOT NULL, -- JSON
	info_sum    INTEGER NOT NULL,
	updated     INTEGER NOT NULL, -- microseconds since 1970
	indexed     INTEGER NOT NULL  -- messages in the word index
);
CREATE TABLE messages (
	key      INTEGER PRIMARY KEY,
	session  INTEGER NOT NULL REFERENCES sessions (key),
	position INTEGER NOT NULL,
	id       TEXT    NOT NULL,
	status   TEXT    NOT NULL,
	authored INTEGER NOT NULL,
	time     TEXT    NOT NULL,
	model    TEXT    NOT NULL,
	hash     BLOB    NOT NULL, -- of body
	prefix   BLOB    NOT NULL, -- over the messages up to this one
	sum      INTEGER NOT NULL, -- over the other columns
	body     BLOB    NOT NULL, -- canonical encoding
	UNIQUE (session, position),
	UNIQUE (session, id)
);
CREATE INDEX messages_authored ON messages (session, position) WHERE authored = 1;
CREATE TABLE calls (
	session  INTEGER NOT NULL REFERENCES sessions (key),
	position INTEGER NOT NULL,
	block    INTEGER NOT NULL,
	answered INTEGER, -- position of the result
	PRIMARY KEY (session, position, block)
) WITHOUT ROWID;
CREATE INDEX calls_pending ON calls (session, position) WHERE answered IS NULL;
CREATE INDEX calls_answered ON calls (session, answered) WHERE answered IS NOT NULL;
CREATE TABLE records (
	seq      INTEGER PRIMARY KEY AUTOINCREMENT,
	session  INTEGER NOT NULL REFERENCES sessions (key),
	kind     TEXT    NOT NULL,
	position INTEGER NOT NULL,
	body     BLOB    NOT NULL, -- JSON
	sum      INTEGER NOT NULL
);
CREATE INDEX records_kind ON records (session, kind, seq);
CREATE TABLE states (
	session INTEGER NOT NULL REFERENCES sessions (key),
	name    TEXT    NOT NULL,
	body    BLOB    NOT NULL,
	sum     INTEGER NOT NULL,
	PRIMARY KEY (session, name)
);
CREATE TABLE removed (
	key      INTEGER PRIMARY KEY,
	session  INTEGER NOT NULL REFERENCES sessions (key),
	removal  INTEGER NOT NULL,
	kind     TEXT    NOT NULL,
	position INTEGER NOT NULL,
	id       TEXT    NOT NULL,
	status   TEXT    NOT NULL,
	authored INTEGER NOT NULL,
	time     TEXT    NOT NULL,
	model    TEXT    NOT NULL,
	hash     BLOB,
	prefix   BLOB,
	sum      INTEGER NOT NULL,
	body     BLOB    NOT NULL
);
CREATE INDEX removed_session ON removed (session, removal);
-- The words of messages, without their text: a hit leads to messages.key.
CREATE VIRTUAL TABLE words USING fts5 (
	text, content = '', contentless_delete = 1, tokenize = "unicode61 remove_diacritics 0"
);

-- +goose Down
DROP TABLE words;
DROP TABLE removed;
DROP TABLE states;
DROP TABLE records;
DROP TABLE calls;
DROP TABLE messages;
DROP TABLE sessions;
