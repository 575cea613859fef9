-- +goose Up
CREATE TABLE sessions (
	key         BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	id          TEXT   COLLATE "C" NOT NULL UNIQUE,
	version     BIGINT NOT NULL,
	messages    BIGINT NOT NULL,
	hash        BYTEA  NOT NULL, -- over all messages
	checkpoints BIGINT NOT NULL,
	info        BYTEA  NOT NULL, -- JSON
	info_sum    BIGINT NOT NULL,
	updated     BIGINT NOT NULL, -- microseconds since 1970
	indexed     BIGINT NOT NULL  -- messages in the word index
);
CREATE TABLE messages (
	key      BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	session  BIGINT NOT NULL REFERENCES sessions (key),
	position BIGINT NOT NULL,
	id       TEXT   NOT NULL,
	status   TEXT   NOT NULL,
	authored BIGINT NOT NULL,
	time     TEXT   NOT NULL,
	model    TEXT   NOT NULL,
	hash     BYTEA  NOT NULL, -- of body
	prefix   BYTEA  NOT NULL, -- over the messages up to this one
	sum      BIGINT NOT NULL, -- over the other columns
	body     BYTEA  NOT NULL, -- canonical encoding
	words    TSVECTOR,
	UNIQUE (session, position),
	UNIQUE (session, id)
);
CREATE INDEX messages_authored ON messages (session, position) WHERE authored = 1;
CREATE INDEX messages_words ON messages USING GIN (words);
CREATE TABLE calls (
	session  BIGINT NOT NULL REFERENCES sessions (key),
	position BIGINT NOT NULL,
	block    BIGINT NOT NULL,
	answered BIGINT, -- position of the result
	PRIMARY KEY (session, position, block)
);
CREATE INDEX calls_pending ON calls (session, position) WHERE answered IS NULL;
CREATE INDEX calls_answered ON calls (session, answered) WHERE answered IS NOT NULL;
CREATE TABLE records (
	seq      BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	session  BIGINT NOT NULL REFERENCES sessions (key),
	kind     TEXT   NOT NULL,
	position BIGINT NOT NULL,
	body     BYTEA  NOT NULL, -- JSON
	sum      BIGINT NOT NULL
);
CREATE INDEX records_kind ON records (session, kind, seq);
CREATE TABLE states (
	session BIGINT NOT NULL REFERENCES sessions (key),
	name    TEXT   NOT NULL,
	body    BYTEA  NOT NULL,
	sum     BIGINT NOT NULL,
	PRIMARY KEY (session, name)
);
CREATE TABLE removed (
	key      BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	session  BIGINT NOT NULL REFERENCES sessions (key),
	removal  BIGINT NOT NULL,
	kind     TEXT   NOT NULL,
	position BIGINT NOT NULL,
	id       TEXT   NOT NULL,
	status   TEXT   NOT NULL,
	authored BIGINT NOT NULL,
	time     TEXT   NOT NULL,
	model    TEXT   NOT NULL,
	hash     BYTEA,
	prefix   BYTEA,
	sum      BIGINT NOT NULL,
	body     BYTEA  NOT NULL
);
CREATE INDEX removed_session ON removed (session, removal);

-- +goose Down
DROP TABLE removed;
DROP TABLE states;
DROP TABLE records;
DROP TABLE calls;
DROP TABLE messages;
DROP TABLE sessions;
